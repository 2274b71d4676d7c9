// Random grammars: JSON Schemas, regular expressions, EBNF and WGSL processors, most of them valid and each its own, some of them of
// sizes that a server has to refuse or to bound.

/** Grammars that once held up those of other clients. */
const list = (count, item) => Array.from({ length: count }, (_, at) => item(at));
const SLOW_SCHEMAS = [
  (salt) => ({ enum: list(8000, (at) => at * 3 + salt) }),
  (salt) => ({ patternProperties: Object.fromEntries(list(4000, (at) => [`^p${at + salt}_`, {}])) }),
  (salt) => ({ type: 'integer', not: { enum: list(3000, (at) => at * 3 + salt) } }),
];
const slowRegex = (salt) => `.*x${salt}.{${17 + (salt % 9)}}`;
const slowEbnf = (salt) =>
  list(
    20_000,
    (at) => `${at === 0 ? 'root' : `r${at}`} ::= "${salt + at}" r${Math.min(at + 1, 19_999)}?`,
  ).join('\n');
const SLOW_SHARE = 0.02;

const NAMES = ['a', 'name', 'größe', 'x y', '$id', '"', 'constructor', 'items'];

export function anySchema(random, level = 0) {
  const { pick, chance, int } = random;
  if (level === 0 && chance(SLOW_SHARE)) return pick(SLOW_SCHEMAS)(int(1e6));
  const inner = () => (level > 3 ? {} : anySchema(random, level + 1));
  const many = (most) => Array.from({ length: 1 + int(most) }, inner);
  const make = pick([
    () => ({
      type: 'string',
      ...(chance(0.3) && { pattern: anyRegex(random) }),
      ...(chance(0.3) && { maxLength: int(200), minLength: int(20) }),
    }),
    () => ({
      type: 'string',
      format: pick(['date-time', 'uuid', 'email', 'ipv6', 'uri', 'regex', 'no-such']),
    }),
    () => ({
      type: pick(['integer', 'number']),
      minimum: int(1e6) - 5e5,
      maximum: int(1e6),
      ...(chance(0.2) && { multipleOf: pick([2, 0.01, 7, 1e-9, 0]) }),
    }),
    () => ({ type: pick(['null', 'boolean', 'object', 'array', ['string', 'null'], 'what']) }),
    () => ({
      enum: Array.from({ length: 1 + int(pick([3, 300])) }, (_, at) =>
        pick([at, `v${int(1e6)}`, null, { at }]),
      ),
    }),
    () => ({ const: pick([1, 'x', [1, { a: null }], '\u0000']) }),
    () => ({
      type: 'array',
      items: inner(),
      ...(chance(0.5) && { minItems: int(4), maxItems: int(pick([8, 5000])) }),
    }),
    () => ({ type: 'array', prefixItems: many(3), ...(chance(0.3) && { uniqueItems: chance(0.5) }) }),
    () => ({ [pick(['anyOf', 'oneOf', 'allOf'])]: many(4) }),
    () => ({ not: inner() }),
    () => Object.fromEntries(['if', 'then', 'else'].map((name) => [name, inner()])),
    () => ({ $ref: pick(['#', '#/$defs/a', '#/nowhere', 'http://x/y']), $defs: { a: inner() } }),
    () => ({
      type: 'object',
      properties: membersOf(random, inner),
      patternProperties: { [anyRegex(random)]: inner() },
    }),
  ]);
  const object = () => ({
    type: 'object',
    properties: membersOf(random, inner),
    required: [pick(NAMES)],
    additionalProperties: pick([false, true, {}]),
  });
  return level === 0 && chance(0.6) ? object() : make();
}

function membersOf({ pick, int }, inner) {
  const count = 1 + int(4);
  return Object.fromEntries(Array.from({ length: count }, () => [`${pick(NAMES)}${int(100)}`, inner()]));
}

export function anyRegex(random, level = 0) {
  const { pick, chance, int } = random;
  if (level === 0 && chance(SLOW_SHARE)) return slowRegex(int(1e6));
  const part = () => (level > 2 ? pick(['a', '.']) : anyRegex(random, level + 1));
  return Array.from({ length: 1 + int(3) }, () =>
    pick([
      () =>
        pick([
          'abc',
          '\\d',
          '\\w+',
          '.',
          '[^x]',
          '[a-f0-9]',
          '\\p{L}',
          '\\p{Nope}',
          '\\s*',
          '🙂',
          '^',
          '$',
          '\\b',
          '(?=a)',
          '\\1',
        ]),
      () => `${part()}${pick(['*', '+', '?', `{${int(5)}}`, `{${int(5)},}`, `{1,${int(pick([9, 900]))}}`])}`,
      () => `(${part()}|${part()}${chance(0.2) ? '|' : ''})`,
      () => pick(['(', ')', '[', '[]', '{', '\\', '(?:', `w${int(1e6)}`]),
    ])(),
  ).join('');
}

export function anyEbnf(random) {
  const { pick, int, chance } = random;
  if (chance(SLOW_SHARE)) return slowEbnf(int(1e6));
  const count = 1 + int(pick([4, 200]));
  const word = () =>
    pick(['"a"', `"w${int(1e6)}"`, '[a-z]+', '[^\\n]', `rule${int(count + 1)}`, '("x" | "y")?', '""']);
  const rules = Array.from(
    { length: count },
    (_, at) => `rule${at} ::= ${Array.from({ length: 1 + int(4) }, word).join(pick([' ', ' | ']))}`,
  );
  return [`root ::= rule0${chance(0.2) ? ' root' : ''}`, ...rules].join('\n');
}

export function anyProcessor({ pick, int }) {
  const body = pick([
    `return logit * ${1 + int(1e6)}.5;`,
    `return logit + f32(token % ${1 + int(1e6)}u);`,
    `for (var i = 0u; i < ${1 + int(1000)}u; i++) { if (i > count) { break; } } return logit;`,
    `return 0.0 / (logit - logit + ${int(2)}.0);`,
    `loop { } return logit;`,
    `return sampled[0];`,
  ]);
  const source = `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 { ${body} }`;
  return JSON.stringify({ name: 'wgsl', source });
}

const MAKERS = {
  response_format: (random) => ({
    type: 'json_schema',
    json_schema: { name: 'x', schema: anySchema(random) },
  }),
  regex: anyRegex,
  stop_regex: anyRegex,
  ebnf: anyEbnf,
  format: anySchema,
  text: (random) => ({ format: { type: 'json_schema', name: 'x', schema: anySchema(random) } }),
  custom_logit_processor: anyProcessor,
  functions: (random) => [{ name: `f${random.int(1e6)}`, parameters: anySchema(random) }],
};

export const hasGrammar = (field) => Object.hasOwn(MAKERS, field);

/** Returns a random value for a field that holds a grammar; null for any other field. */
export function grammarValue(field, random) {
  return hasGrammar(field) ? MAKERS[field](random) : null;
}
