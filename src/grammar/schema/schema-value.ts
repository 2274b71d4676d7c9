// JSON Schemas as plain values, before they are indexed, and JSON pointers into them.

export type SchemaObject = Record<string, unknown>;

/** Keywords whose value is a subschema, a list of subschemas, or an object of subschemas. */
const SINGLE = [
  ...['items', 'contains', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['propertyNames', 'not', 'if', 'then', 'else', 'additionalItems', 'contentSchema'],
];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'dependencies'];

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is SchemaObject | boolean {
  return typeof value === 'boolean' || isObject(value);
}

/** The subschemas of a schema, each with its JSON pointer in the schema, without the leading slash. */
export function* subschemas(value: SchemaObject): Generator<[string, unknown]> {
  for (const key of SINGLE) {
    if (isSchema(value[key])) yield [key, value[key]];
  }
  for (const key of LISTS) {
    const list = value[key];
    if (!Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) if (isSchema(item)) yield [`${key}/${i}`, item];
  }
  for (const key of MAPS) {
    const map = value[key];
    if (!isObject(map)) continue;
    for (const [name, item] of Object.entries(map)) {
      if (isSchema(item)) yield [`${key}/${escapePointer(name)}`, item];
    }
  }
}

export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A value as messages show it. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
