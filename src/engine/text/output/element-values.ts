// Reads arguments that are elements named after them, in which objects and lists are elements, too. What an element is follows from the tool's
// schema, and a name may occur again, so that the arguments of a call are emitted together.

import type { CallContext } from './call-context.ts';
import type { NestedValues, TaggedBody } from './format.ts';
import { firsts, match, peek, run, sees, space, textUntil, type Parse } from './reader.ts';
import { deref, isObject, kindsIn, MOST_ALTERNATIVES, toJson } from './typed-value.ts';

type Schema = Record<string, unknown>;

/** An element's text, or the elements within it. */
type Value = string | readonly Element[];

interface Element {
  name: string;
  value: Value;
}

/** Member with the text beside the elements of an object. */
const TEXT_MEMBER = '$text';
const DEEPEST = 64;
const LONGEST_NAME = 256;

/** Emits the arguments as members of an object, up to one that is malformed; false: the reply ended within one. */
export function* elements(context: CallContext, body: TaggedBody, parameters: unknown): Parse<boolean> {
  const { reader, marker, parts } = context;
  const nested = body.nested!;
  const found: Element[] = [];
  let whole = true;
  for (;;) {
    yield* space(reader);
    if (yield* sees(reader, [marker(body.close!)])) break;
    if (!(yield* match(reader, [marker(`${nested.mark}<`)]))) break;
    const element = yield* readElement(context, nested, 0);
    if (element !== null) {
      found.push(element);
      continue;
    }
    whole = yield* skipTo(context, body.close!);
    break;
  }
  const root = isObject(parameters) ? parameters : {};
  parts.arguments(membersJson(found, root, root).slice(1, -1));
  return whole;
}

/** Skips a malformed rest of the arguments; false: the reply ended first. */
function* skipTo({ reader, marker }: CallContext, close: string): Parse<boolean> {
  const closing = [marker(close)];
  for (;;) {
    if (yield* sees(reader, closing)) return true;
    if ((yield* peek(reader)) === null) return false;
    reader.at++;
  }
}

/** Reads an element after the `<` of its opening tag; null: it is malformed, or the reply ended within it. */
function* readElement(context: CallContext, nested: NestedValues, depth: number): Parse<Element | null> {
  const { reader, marker } = context;
  const name = yield* run(reader, /[^<>/]/, LONGEST_NAME);
  if (depth > DEEPEST || name.trim() === '' || !(yield* match(reader, [marker('>')]))) return null;
  const end = [marker(`${nested.mark}</${name}>`)];
  const begin = [marker(`${nested.mark}<`)];
  const stops = firsts(begin);
  const inner: Element[] = [];
  let text = '';
  for (;;) {
    if ((yield* peek(reader)) === null) return null;
    if (yield* match(reader, end)) break;
    if (!(yield* match(reader, begin))) {
      text += textUntil(reader, stops);
      continue;
    }
    const element = yield* readElement(context, nested, depth + 1);
    if (element === null) return null;
    inner.push(element);
  }
  if (inner.length === 0) return { name, value: text };
  if (text.trim() === '') return { name, value: inner };
  let member = TEXT_MEMBER;
  while (inner.some((one) => one.name === member)) member = `$${member}`;
  return { name, value: [...inner, { name: member, value: text }] };
}

function valueJson(value: Value, schema: unknown, root: Schema): string {
  const container = containerOf(schema, root);
  if (typeof value === 'string') {
    if (!isObject(schema)) return JSON.stringify(value);
    const kinds = kindsIn(schema, root);
    // A list or an object without members is an element without text.
    if (container && !kinds.has('string') && value.trim() === '') return container.isList ? '[]' : '{}';
    return kinds.size === 0 ? JSON.stringify(value) : toJson(value, kinds);
  }
  if (!container?.isList) return membersJson(value, container?.schema, root);
  const { items } = container.schema;
  return `[${value.map((one) => valueJson(one.value, items, root)).join(', ')}]`;
}

/** JSON of an object. The values of a name that occurs again become a list. */
function membersJson(members: readonly Element[], schema: Schema | undefined, root: Schema): string {
  const { properties, additionalProperties: others } = schema ? deref(schema, root) : {};
  const byName = new Map<string, string[]>();
  for (const { name, value } of members) {
    const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : others;
    byName.set(name, [...(byName.get(name) ?? []), valueJson(value, own, root)]);
  }
  const written = Array.from(byName, ([name, values]) => {
    return `${JSON.stringify(name)}: ${values.length > 1 ? `[${values.join(', ')}]` : values[0]!}`;
  });
  return `{${written.join(', ')}}`;
}

interface Container {
  isList: boolean;
  schema: Schema;
}

/** The first alternative of a schema that is a list or an object; null: there is none. `seen`: alternatives that need no second look. */
function containerOf(given: unknown, root: Schema, seen = new Set<Schema>()): Container | null {
  if (!isObject(given) || seen.has(given) || seen.size === MOST_ALTERNATIVES) return null;
  seen.add(given);
  const schema = deref(given, root);
  const types = [schema['type']].flat();
  const says = (type: string, ...words: string[]): boolean =>
    types.includes(type) || (schema['type'] === undefined && words.some((word) => word in schema));
  if (says('array', 'items')) return { isList: true, schema };
  if (says('object', 'properties', 'additionalProperties')) return { isList: false, schema };
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const branches = schema[word];
    if (!Array.isArray(branches)) continue;
    for (const branch of branches) {
      const found = containerOf(branch, root, seen);
      if (found) return found;
    }
  }
  return null;
}
