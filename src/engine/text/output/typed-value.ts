// Converts arguments that a model writes as unquoted text to JSON, by the type in the tool's schema.

import { literalJson } from './literals.ts';

type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

const KINDS: readonly Kind[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** Types that a value may have; empty: the schema gives no type. */
export type Kinds = ReadonlySet<Kind>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Types of an argument. `parameters`: JSON schema of the tool's parameters. */
export function kindsOf(parameters: unknown, argument: string): Kinds {
  const kinds = new Set<Kind>();
  if (!isObject(parameters)) return kinds;
  const root = parameters;
  const properties = deref(root, root)['properties'];
  if (!isObject(properties) || !Object.hasOwn(properties, argument)) return kinds;
  collect(properties[argument], root, kinds);
  return kinds;
}

/** Types of a value that a schema allows. `root`: the schema that contains it. */
export function kindsIn(schema: unknown, root: Record<string, unknown>): Kinds {
  const kinds = new Set<Kind>();
  collect(schema, root, kinds);
  return kinds;
}

/** Whether a tool declares its parameters, and no such one. */
export function isUndeclared(parameters: unknown, argument: string): boolean {
  if (!isObject(parameters)) return false;
  const { properties } = deref(parameters, parameters);
  return isObject(properties) && Object.keys(properties).length > 0 && !Object.hasOwn(properties, argument);
}

/** Number of alternatives of a schema that are looked at. */
export const MOST_ALTERNATIVES = 256;

/** Adds the types that a schema allows. `seen`: alternatives that need no second look, since they may refer to each other. */
function collect(
  schema: unknown,
  root: Record<string, unknown>,
  kinds: Set<Kind>,
  seen = new Set<object>(),
): void {
  if (!isObject(schema) || seen.has(schema) || seen.size === MOST_ALTERNATIVES) return;
  seen.add(schema);
  const { type, enum: values, const: value, ...rest } = deref(schema, root);
  for (const named of Array.isArray(type) ? type : [type]) {
    const kind = KINDS.find((known) => known === named);
    if (kind) kinds.add(kind);
  }
  if (type !== undefined) return;
  if (value !== undefined) kinds.add(kindOf(value));
  if (Array.isArray(values)) for (const each of values) kinds.add(kindOf(each));
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const branches = rest[word];
    if (Array.isArray(branches)) for (const branch of branches) collect(branch, root, kinds, seen);
  }
  if (kinds.size > 0) return;
  if ('properties' in rest || 'additionalProperties' in rest) kinds.add('object');
  if ('items' in rest || 'prefixItems' in rest) kinds.add('array');
}

const MOST_REFERENCES = 8;

/** Resolves a `$ref` within the schema; keywords beside the `$ref` take precedence. */
export function deref(
  schema: Record<string, unknown>,
  root: Record<string, unknown>,
): Record<string, unknown> {
  let current = schema;
  for (let depth = 0; depth < MOST_REFERENCES; depth++) {
    const { $ref: ref, ...beside } = current;
    if (typeof ref !== 'string') return current;
    const path = ref.split('/');
    if (path.shift() !== '#') return beside;
    let target: unknown = root;
    for (const key of path) {
      const name = nameOf(key);
      target = isObject(target) || Array.isArray(target) ? Reflect.get(target, name) : undefined;
    }
    if (!isObject(target)) return beside;
    current = { ...target, ...beside };
  }
  return current;
}

/** Decodes a segment of a JSON pointer in a URI fragment. A malformed percent escape is kept as text. */
function nameOf(segment: string): string {
  let text = segment;
  try {
    text = decodeURIComponent(segment);
  } catch {
    // The segment has a malformed percent escape and is used undecoded.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

function kindOf(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'number' || type === 'boolean' || type === 'object' ? type : 'string';
}

/** Whether the value can only be a string, so that its text can be streamed. */
export function isText(kinds: Kinds): boolean {
  return kinds.size === 1 && kinds.has('string');
}

/**
 * JSON of a value. A text that is a value of one of the types becomes that value, and so does any JSON if the schema
 * gives no type; any other text becomes a string, so that no output is lost.
 */
export function toJson(text: string, kinds: Kinds): string {
  const trimmed = text.trim();
  const wants = (...names: Kind[]): boolean => kinds.size === 0 || names.some((name) => kinds.has(name));
  if (wants('null') && /^(null|none)$/i.test(trimmed)) return 'null';
  if (wants('boolean') && /^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase();
  if (wants('number', 'integer')) {
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) return trimmed;
    const lenient = /^[+-]?[\d_]*\.?[\d_]+(e[+-]?\d+)?$/i.test(trimmed)
      ? Number(trimmed.replaceAll('_', ''))
      : NaN;
    if (kinds.size > 0 && Number.isFinite(lenient)) return String(lenient);
  }
  if (wants('object') && trimmed.startsWith('{') && isJson(trimmed)) return trimmed;
  if (wants('array') && trimmed.startsWith('[') && isJson(trimmed)) return trimmed;
  // Some models escape the quotes of JSON, as if it stood in a string.
  const isEscaped = kinds.size > 0 && wants('object', 'array') && /^[[{]\s*[[{]?\\"/.test(trimmed);
  const unescaped = isEscaped ? parsed(`"${trimmed}"`) : null;
  if (typeof unescaped === 'string' && isJson(unescaped)) return unescaped;
  // Words in braces are text, unless the schema asks for a list.
  const sets = kinds.has('array') && !kinds.has('string');
  const literal = wants('object', 'array') && /^[[{(]/.test(trimmed) ? literalJson(trimmed, sets) : null;
  return literal ?? JSON.stringify(text);
}

function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

export function isJsonObject(text: string): boolean {
  return isObject(parsed(text));
}

/** The parsed JSON; undefined if the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
