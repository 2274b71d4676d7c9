// Values for fuzzed requests: what a field's schema in /openapi.json allows, what lies just outside its bounds, and what no field wants.

/** Values of the wrong kind, size or form for most fields. */
const ODD = [
  ...[
    null,
    true,
    false,
    -1,
    0,
    -0,
    1,
    3,
    1.5,
    1e-320,
    1e-30,
    1e308,
    -1e308,
    2 ** 31,
    2 ** 53,
    -(2 ** 63),
    2 ** 64,
  ],
  ...[
    '',
    ' ',
    'x',
    '0',
    '-1',
    '1e999',
    'null',
    'NaN',
    '\u0000',
    '\ufeff',
    '\ufffd',
    '🙂',
    'e\u0301',
    '\u202e',
    '__proto__',
  ],
  ...['../../etc/passwd', '%00', '%s%n', '{{ 7*7 }}', '<|im_end|>', '</think>', '<tool_call>', '\r\nx: y'],
  ...[[], [[]], [null], [1], ['x'], [[[[[[]]]]]], {}, { a: 1 }, { type: 'x' }, { type: 'text' }, { '': '' }],
  ...[{ toString: 1, valueOf: 'x', length: -1 }, { constructor: { prototype: 1 } }],
];

/** Larger ones, made when they are asked for. */
const LARGE = [
  () => 'a'.repeat(5000),
  () => '🙂'.repeat(2000),
  () => ' \n'.repeat(3000),
  () => Array.from({ length: 3000 }, (_, at) => at),
  () => Array.from({ length: 300 }, () => ({})),
  () => Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, at])),
  () => nested(150, (inner) => [inner]),
  () => nested(150, (inner) => ({ a: inner })),
];

function nested(levels, wrap) {
  let value = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

export function oddValue({ pick, chance }) {
  return structuredClone(chance(0.9) ? pick(ODD) : pick(LARGE)());
}

const MOST_LEVELS = 8;

/** Something that fits a schema; `names` are those of /openapi.json. */
export function fittingValue(schema, names, random, level = 0) {
  const { pick, chance, int } = random;
  const { $ref, anyOf, oneOf, allOf, enum: choices, const: only } = schema;
  const inner = (part) => fittingValue(part, names, random, level + 1);
  if (level > MOST_LEVELS) return null;
  if ($ref) return inner(names[$ref.split('/').at(-1)]);
  const branches = anyOf ?? oneOf ?? allOf;
  if (branches) return inner(pick(branches));
  if (only !== undefined) return only;
  if (choices) return pick(choices);
  if (schema.default !== undefined && chance(0.2)) return schema.default;
  const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
  if (type === 'integer' || type === 'number') return numberOf(schema, type, random);
  if (type === 'string') return textOf(schema, random);
  if (type === 'boolean') return chance(0.5);
  if (type === 'array')
    return Array.from({ length: (schema.minItems ?? 0) + int(3) }, () => inner(schema.items ?? {}));
  if (type === 'object') return objectOf(schema, random, inner);
  return type === 'null' ? null : oddValue(random);
}

function numberOf(schema, type, { pick, next }) {
  const low = schema.minimum ?? schema.exclusiveMinimum ?? -10;
  const high = schema.maximum ?? schema.exclusiveMaximum ?? 1000;
  const step = type === 'integer' ? 1 : 1e-9;
  const some = low + (Math.min(high, low + 64) - low) * next();
  return pick([low, high, low - step, high + step, low + step, type === 'integer' ? Math.round(some) : some]);
}

const WORDS = [
  'Hello',
  'a red balloon',
  'get_weather',
  'root ::= "a"',
  '[ab]{1,3}',
  'user',
  'default',
  'Once upon a time',
];

function textOf({ minLength = 0, maxLength = Infinity }, { pick }) {
  const text = pick(WORDS);
  return text.length >= minLength && text.length <= maxLength ? text : text.slice(0, Math.min(maxLength, 8));
}

function objectOf({ properties = {}, required = [], additionalProperties }, { chance, pick }, inner) {
  const own = Object.entries(properties).filter(([name]) => required.includes(name) || chance(0.4));
  const other = additionalProperties && chance(0.3) ? [[pick(WORDS), inner(additionalProperties)]] : [];
  return Object.fromEntries([...own.map(([name, part]) => [name, inner(part)]), ...other]);
}

/** Ways to spoil the text of a JSON body: what cannot be said with a value. */
const SPOILS = [
  (text, { int }) => text.slice(0, int(text.length)),
  (text) => `${text}${text}`,
  (text) => `${text} x`,
  (text) => `\ufeff${text}`,
  (text) => `[${text}]`,
  (text) => text.replace('{', '{"model":"default","model":7,'),
  (text) => text.replace('{', '{"__proto__":{"stream":true},'),
  (text) => text.replaceAll('"', "'"),
  (text) => text.replace(/:\d+(\.\d+)?/, ':1e999'),
  (text) => text.replace(/:\d+(\.\d+)?/, ':-0'),
  (text) => text.replace(/:\d+(\.\d+)?/, ':00001'),
  (text) => text.replace(/:\d+(\.\d+)?/, `:${'9'.repeat(400)}`),
  (text) => text.replace(/:\d+(\.\d+)?/, ':NaN'),
  (text) => text.replace(/":"[^"]*"/, '":"\\ud800"'),
  (text) => text.replace(/":"[^"]*"/, '":"\\udc00\\ud800"'),
  (text) => text.replace(/":"[^"]*"/, '":"\\u0000"'),
  (text) => text.replace(/":"[^"]*"/, `":${'['.repeat(5000)}${']'.repeat(5000)}`),
  (text) => text.replace(/":"[^"]*"/, `":${'{"a":'.repeat(190)}1${'}'.repeat(190)}`),
  (text, { int }) => invalidUtf8(text, int(text.length)),
  () => '',
  () => '\u0000',
  () => 'null',
  () => '[['.repeat(50_000),
  () => `{"messages":[${'{},'.repeat(20_000)}{}]}`,
];

export function spoiledText(text, random) {
  return random.pick(SPOILS)(text, random);
}

function invalidUtf8(text, at) {
  const bytes = Buffer.from(text);
  bytes[at % bytes.length] = 0xff;
  return bytes;
}
