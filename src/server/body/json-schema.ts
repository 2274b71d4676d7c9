// Checks that a value is a JSON Schema: every keyword known here has the kind of value that Draft 2020-12 gives it. The engine
// interprets the keywords.

import { isObject, show } from './fields.ts';

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];

/** Names of types in databases and in Python, which clients send instead of JSON Schema's. */
const TYPE_NAMES: Record<string, string> = {
  str: 'string',
  text: 'string',
  varchar: 'string',
  char: 'string',
  date: 'string',
  datetime: 'string',
  int: 'integer',
  bigint: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  bool: 'boolean',
  list: 'array',
  tuple: 'array',
  dict: 'object',
  map: 'object',
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

type Kind = [wanted: string, fits: (value: unknown) => boolean];

const kind = ([wanted, fits]: Kind, ...keywords: string[]): [string, Kind][] =>
  keywords.map((keyword) => [keyword, [wanted, fits]]);

const VALUES = new Map<string, Kind>([
  ...kind(['a text', isText], '$ref', '$dynamicRef', '$id', '$schema', '$anchor', 'title', 'description'),
  ...kind(['a text', isText], 'pattern', 'format', 'contentEncoding', 'contentMediaType'),
  ...kind(['a list of texts', isTexts], 'required'),
  ...kind(['a list', Array.isArray], 'enum', 'examples'),
  ...kind(['a whole number of at least 0', isCount], 'minLength', 'maxLength', 'minItems', 'maxItems'),
  ...kind(
    ['a whole number of at least 0', isCount],
    'minProperties',
    'maxProperties',
    'minContains',
    'maxContains',
  ),
  ...kind(['a number', isNumber], 'minimum', 'maximum'),
  ...kind(['a number above 0', (value) => isNumber(value) && (value as number) > 0], 'multipleOf'),
  ...kind(['true or false', isFlag], 'uniqueItems', 'deprecated', 'readOnly', 'writeOnly'),
]);

const ONE = new Set(
  [
    'additionalProperties',
    'unevaluatedProperties',
    'unevaluatedItems',
    'propertyNames',
    'contains',
    'not',
    'if',
    'then',
  ].concat('else'),
);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/**
 * Returns the schema with JSON Schema's names of types. Calls `refuse` with the path and the reason where the value is not a
 * schema.
 */
export function readSchema(
  value: unknown,
  path: string,
  refuse: (path: string, text: string) => never,
): unknown {
  if (typeof value === 'boolean') return value;
  if (!isObject(value)) return refuse(path, `must be a JSON Schema, which is an object, got ${show(value)}`);
  const inner = (part: unknown, at: string): unknown => readSchema(part, `${path}.${at}`, refuse);
  const list = (parts: unknown, keyword: string): unknown =>
    Array.isArray(parts)
      ? parts.map((part, at) => inner(part, `${keyword}.${at}`))
      : refuse(`${path}.${keyword}`, `must be a list of schemas, got ${show(parts)}`);

  const read = ([keyword, part]: [string, unknown]): unknown => {
    const at = `${path}.${keyword}`;
    const rule = VALUES.get(keyword);
    if (rule && !rule[1](part)) return refuse(at, `must be ${rule[0]}, got ${show(part)}`);
    if (keyword === 'type') return readType(part, at, refuse);
    if (ONE.has(keyword)) return inner(part, keyword);
    if (keyword === 'items') return Array.isArray(part) ? list(part, keyword) : inner(part, keyword);
    if (LISTS.has(keyword)) return list(part, keyword);
    if (!NAMED.has(keyword)) return part;
    if (!isObject(part)) return refuse(at, `must be an object of schemas, got ${show(part)}`);
    return Object.fromEntries(
      Object.entries(part).map(([name, schema]) => [name, inner(schema, `${keyword}.${name}`)]),
    );
  };
  return Object.fromEntries(Object.entries(value).map((entry) => [entry[0], read(entry)]));
}

function readType(type: unknown, path: string, refuse: (path: string, text: string) => never): unknown {
  const names: unknown[] = Array.isArray(type) ? type : [type];
  const read = names.map((name) => {
    const known = typeof name === 'string' && Object.hasOwn(TYPE_NAMES, name) ? TYPE_NAMES[name] : name;
    if (TYPES.some((one) => one === known)) return known;
    return refuse(path, `must be one of ${TYPES.join(', ')}, got ${show(name)}`);
  });
  return Array.isArray(type) ? read : read[0];
}
