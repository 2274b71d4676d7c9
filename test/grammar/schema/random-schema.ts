// Random schemas and random values near them.

import { pick } from '../small-vocabulary.ts';

type Next = () => number;

export const NAMES = ['a', 'b', 'c', 'long name', 'é'];
export const WORDS = ['', 'a', 'ab', 'abc', 'x1', 'né', '"quoted"', 'two\nlines'];
const NUMBERS = [0, 1, -1, 2, 3, 7, 10, -20, 0.5, 1.25, 100, 1e21, 1e-7];
const PATTERNS = ['^a', 'b$', '^[a-c]+$', '[0-9]', '^x?', '^(ab|c)*$'];

const maybe = (next: Next, chance: number): boolean => next() < chance;
const below = (next: Next, count: number): number => Math.floor(next() * count);
const some = <T>(next: Next, list: readonly T[], chance = 0.5): T[] => list.filter(() => maybe(next, chance));

/** `definitions`: names under $defs that may be referred to. */
export function randomSchema(next: Next, depth: number, definitions: readonly string[]): unknown {
  if (maybe(next, 0.06)) return maybe(next, 0.8);
  if (definitions.length > 0 && maybe(next, 0.12)) return { $ref: `#/$defs/${pick(next, definitions)}` };
  const schema: Record<string, unknown> = {};
  const sub = (): unknown => randomSchema(next, depth - 1, definitions);
  const type = pick(next, [
    'null',
    'boolean',
    'integer',
    'number',
    'string',
    'string',
    'array',
    'object',
    'object',
    '',
  ]);
  if (type !== '' && maybe(next, 0.85))
    schema['type'] = maybe(next, 0.15) ? [...new Set([type, 'null'])] : type;
  if (type === 'integer' || type === 'number') addNumber(next, schema);
  if (type === 'string') addString(next, schema);
  if (type === 'array' && depth > 0) addArray(next, schema, sub);
  if (type === 'object' && depth > 0) addObject(next, schema, sub);
  if (type === '' && maybe(next, 0.5))
    schema['enum'] = Array.from({ length: 1 + below(next, 4) }, () => randomValue(next, 1));
  if (depth > 0 && maybe(next, 0.25)) addApplicator(next, schema, sub);
  return schema;
}

function addNumber(next: Next, schema: Record<string, unknown>): void {
  const [a, b] = [pick(next, NUMBERS), pick(next, NUMBERS)];
  if (maybe(next, 0.4)) schema[maybe(next, 0.5) ? 'minimum' : 'exclusiveMinimum'] = Math.min(a, b);
  if (maybe(next, 0.4)) schema[maybe(next, 0.5) ? 'maximum' : 'exclusiveMaximum'] = Math.max(a, b) + 3;
  if (maybe(next, 0.2)) {
    // Bounded, because ajv divides doubles and misjudges large multiples.
    Object.assign(schema, { minimum: -1000, maximum: 1000, multipleOf: pick(next, [1, 2, 3, 5, 0.5, 10]) });
  }
}

function addString(next: Next, schema: Record<string, unknown>): void {
  const least = below(next, 4);
  if (maybe(next, 0.3)) schema['minLength'] = least;
  if (maybe(next, 0.3)) schema['maxLength'] = least + below(next, 5);
  if (maybe(next, 0.3)) schema['pattern'] = pick(next, PATTERNS);
  if (maybe(next, 0.2)) schema['enum'] = some(next, WORDS, 0.5).concat('a');
}

function addArray(next: Next, schema: Record<string, unknown>, sub: () => unknown): void {
  if (maybe(next, 0.3)) schema['prefixItems'] = Array.from({ length: 1 + below(next, 2) }, sub);
  if (maybe(next, 0.7)) schema['items'] = sub();
  const least = below(next, 3);
  if (maybe(next, 0.3)) schema['minItems'] = least;
  if (maybe(next, 0.4)) schema['maxItems'] = least + below(next, 3);
  // With prefixItems, ajv wrongly accepts [] for an array with `contains`.
  if (schema['prefixItems'] === undefined && maybe(next, 0.2)) {
    schema['contains'] = sub();
    if (maybe(next, 0.4)) schema['maxContains'] = 1 + below(next, 2);
    if (maybe(next, 0.3)) schema['minContains'] = below(next, 3);
  }
  if (maybe(next, 0.15)) {
    schema['uniqueItems'] = true;
    if (maybe(next, 0.4)) schema['items'] = { enum: ['a', 'b', 1, null] };
  }
}

function addObject(next: Next, schema: Record<string, unknown>, sub: () => unknown): void {
  schema['properties'] = Object.fromEntries(some(next, NAMES, 0.6).map((name) => [name, sub()]));
  if (maybe(next, 0.5)) schema['required'] = some(next, NAMES, 0.3);
  if (maybe(next, 0.5)) schema['additionalProperties'] = maybe(next, 0.6) ? false : sub();
  if (maybe(next, 0.2)) schema['patternProperties'] = { [pick(next, PATTERNS)]: sub() };
  if (maybe(next, 0.15)) schema['propertyNames'] = pick(next, [{ maxLength: 2 }, { pattern: '^[a-c]' }]);
  const least = below(next, 3);
  if (maybe(next, 0.15)) schema['minProperties'] = least;
  if (maybe(next, 0.15)) schema['maxProperties'] = least + below(next, 3);
  if (maybe(next, 0.15)) schema['dependentRequired'] = { [pick(next, NAMES)]: some(next, NAMES, 0.3) };
  if (maybe(next, 0.1)) schema['dependentSchemas'] = { [pick(next, NAMES)]: sub() };
  if (maybe(next, 0.15)) schema['unevaluatedProperties'] = maybe(next, 0.7) ? false : sub();
}

function addApplicator(next: Next, schema: Record<string, unknown>, sub: () => unknown): void {
  const keyword = pick(next, ['allOf', 'anyOf', 'oneOf', 'not', 'if']);
  if (keyword === 'allOf' || keyword === 'anyOf' || keyword === 'oneOf') {
    schema[keyword] = Array.from({ length: 2 }, sub);
    return;
  }
  schema[keyword] = sub();
  const branches = keyword === 'if' ? some(next, ['then', 'else'], 0.7) : [];
  for (const branch of branches) schema[branch] = sub();
}

export function randomValue(next: Next, depth: number): unknown {
  switch (below(next, depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return maybe(next, 0.5);
    case 2:
      return pick(next, NUMBERS);
    case 3:
    case 4:
      return pick(next, WORDS);
    case 5:
      return Array.from({ length: below(next, 4) }, () => randomValue(next, depth - 1));
    default:
      return Object.fromEntries(some(next, NAMES, 0.4).map((name) => [name, randomValue(next, depth - 1)]));
  }
}

/** Returns the value with one change somewhere. */
export function mutated(next: Next, value: unknown): unknown {
  if (maybe(next, 0.25) || typeof value !== 'object' || value === null) {
    if (typeof value === 'number' && maybe(next, 0.5)) return value + pick(next, [1, -1, 0.5, 10]);
    if (typeof value === 'string' && maybe(next, 0.5))
      return maybe(next, 0.5) ? value + 'a' : Array.from(value).slice(1).join('');
    return randomValue(next, 1);
  }
  if (Array.isArray(value)) {
    const at = below(next, value.length + 1);
    const change = pick(next, ['replace', 'drop', 'add']);
    if (change === 'add' || at === value.length)
      return value.toSpliced(at, 0, value[0] ?? randomValue(next, 1));
    return change === 'drop' ? value.toSpliced(at, 1) : value.with(at, mutated(next, value[at]));
  }
  const members = Object.entries(value);
  const at = below(next, members.length + 1);
  const member = members[at];
  if (member === undefined)
    return Object.fromEntries([...members, [pick(next, NAMES), randomValue(next, 1)]]);
  if (maybe(next, 0.4)) return Object.fromEntries(members.toSpliced(at, 1));
  return Object.fromEntries(members.with(at, [member[0], mutated(next, member[1])]));
}
