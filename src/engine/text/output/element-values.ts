// Reads arguments that are elements named after them, in which objects and lists are elements, too. What an element is follows from the tool's
// schema, and a name may occur again, so that the arguments of a call are emitted together.

import type { CallContext } from './call-context.ts';
import type { NestedBody, NestedValues } from './format.ts';
import { firsts, match, peek, run, sees, space, textUntil, until, type Parse } from './reader.ts';
import { deref, isObject, kindsIn, MOST_ALTERNATIVES, toJson } from './typed-value.ts';

type Schema = Record<string, unknown>;

/** An element's text, or the elements within it. */
type Value = string | readonly Element[];

interface Element {
  name: string;
  value: Value;
  /** Whether its closing tag was read. Else the reply ended within it, or it contains a malformed tag. */
  isWhole: boolean;
}

/** Member with the text beside the elements of an object. */
const TEXT_MEMBER = '$text';
const DEEPEST = 64;
const LONGEST_NAME = 256;

/** Emits the arguments as members of an object, up to a malformed tag or the reply's end within an element; false: there is one. */
export function* elements(context: CallContext, body: NestedBody, parameters: unknown): Parse<boolean> {
  const { reader, marker, parts } = context;
  const nested = body.nested;
  const found: Element[] = [];
  let whole = true;
  while (whole) {
    yield* space(reader);
    if (yield* sees(reader, [marker(body.close)])) break;
    if (!(yield* match(reader, [marker(`${nested.mark}<`)]))) break;
    const element = yield* readElement(context, nested, 0);
    if (element) found.push(element);
    whole = element?.isWhole ?? false;
  }
  // Text after a malformed tag is left out. The object stays open, so that the call does not count as a complete one.
  if (!whole) yield* until(reader, marker(body.close), () => {});
  const root = isObject(parameters) ? parameters : {};
  parts.arguments(membersJson(found, root, { root, item: nested.item }, !whole));
  return whole;
}

/** Reads an element after the `<` of its opening tag, or the part of it that there is; null: this tag is malformed, or the reply ended within it. */
function* readElement(context: CallContext, nested: NestedValues, depth: number): Parse<Element | null> {
  const { reader, marker } = context;
  const name = yield* run(reader, /[^<>/]/, LONGEST_NAME);
  if (depth > DEEPEST || name.trim() === '' || !(yield* match(reader, [marker('>')]))) return null;
  const end = [marker(`${nested.mark}</${name}>`)];
  const begin = [marker(`${nested.mark}<`)];
  const stops = firsts(begin);
  const inner: Element[] = [];
  let text = '';
  let isWhole = false;
  while ((yield* peek(reader)) !== null) {
    const from = reader.at;
    isWhole = (yield* match(reader, end)) !== null;
    if (isWhole) break;
    if (!(yield* match(reader, begin))) {
      text += textUntil(reader, stops);
      continue;
    }
    const element = yield* readElement(context, nested, depth + 1);
    if (element) inner.push(element);
    else reader.at = from; // the tag may be that which ends the call
    if (!element?.isWhole) break;
  }
  if (inner.length === 0) return { name, value: text, isWhole };
  if (text.trim() === '') return { name, value: inner, isWhole };
  let member = TEXT_MEMBER;
  while (inner.some((one) => one.name === member)) member = `$${member}`;
  return { name, value: [...inner, { name: member, value: text, isWhole: true }], isWhole };
}

interface Scope {
  root: Schema;
  /** Name of the elements of a list. */
  item: string;
}

/** JSON of a value. `isOpen`: only a part of the value is known, and its JSON has no end. */
function valueJson(value: Value, schema: unknown, scope: Scope, isOpen: boolean): string {
  const containers = containersIn(schema, scope.root);
  if (typeof value === 'string') return textJson(value, schema, containers, scope.root, isOpen);
  const list = containers.find(({ isList }) => isList);
  const object = containers.find(({ isList }) => !isList);
  if (!list || (object && !isRepeated(value, scope.item))) {
    return `{${membersJson(value, object?.schema, scope, isOpen)}${isOpen ? '' : '}'}`;
  }
  const { items } = list.schema;
  const last = value.length - 1;
  const written = value.map((one, at) => {
    return valueJson(one.value, items, scope, isOpen && at === last && !one.isWhole);
  });
  return `[${written.join(', ')}${isOpen ? '' : ']'}`;
}

function textJson(
  text: string,
  schema: unknown,
  [first]: readonly Container[],
  root: Schema,
  isOpen: boolean,
): string {
  const kinds = kindsIn(schema, root);
  const isEmpty = text.trim() === '' && kinds.size > 0 && !kinds.has('string');
  if (isEmpty && isOpen) return '';
  // A list or an object without members is an element without text.
  if (isEmpty && first) return first.isList ? '[]' : '{}';
  const json = kinds.size === 0 ? JSON.stringify(text) : toJson(text, kinds);
  return isOpen && json.startsWith('"') ? json.slice(0, -1) : json;
}

/** Whether the elements have one name that occurs again, or that of the elements of a list. */
function isRepeated([first, ...others]: readonly Element[], item: string): boolean {
  const isOne = others.every(({ name }) => name === first?.name);
  return isOne && (others.length > 0 || first?.name === item);
}

/** JSON of the members of an object, without its braces. The values of a name that occurs again become a list. */
function membersJson(
  members: readonly Element[],
  schema: Schema | undefined,
  scope: Scope,
  isOpen: boolean,
): string {
  const { properties, additionalProperties: rest } = schema ? deref(schema, scope.root) : {};
  const groups = new Map<string, Element[]>();
  for (const member of members) {
    const group = groups.get(member.name);
    if (group) group.push(member);
    else groups.set(member.name, [member]);
  }
  const written = Array.from(groups, ([name, group], nth) => {
    const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : rest;
    // A part of a value has no end if nothing is written after it.
    const endsOpen = isOpen && nth === groups.size - 1 && !group.at(-1)!.isWhole;
    const values = group.map(({ value }, at) => {
      return valueJson(value, own, scope, endsOpen && at === group.length - 1);
    });
    const list = `[${values.join(', ')}${endsOpen ? '' : ']'}`;
    return `${JSON.stringify(name)}: ${values.length > 1 ? list : values[0]!}`;
  });
  return written.join(', ');
}

interface Container {
  isList: boolean;
  schema: Schema;
}

/** Alternatives of a schema that are lists or objects, in their order. */
function containersIn(schema: unknown, root: Schema): Container[] {
  const found: Container[] = [];
  collect(schema, root, found, new Set());
  return found;
}

/** Adds the alternatives that are lists or objects. `seen`: alternatives that need no second look, since they may refer to each other. */
function collect(given: unknown, root: Schema, found: Container[], seen: Set<Schema>): void {
  if (!isObject(given) || seen.has(given) || seen.size === MOST_ALTERNATIVES) return;
  seen.add(given);
  const schema = deref(given, root);
  const types = [schema['type']].flat();
  const says = (type: string, ...words: string[]): boolean =>
    types.includes(type) || (schema['type'] === undefined && words.some((word) => word in schema));
  if (says('array', 'items')) found.push({ isList: true, schema });
  if (says('object', 'properties', 'additionalProperties')) found.push({ isList: false, schema });
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const branches = schema[word];
    if (Array.isArray(branches)) for (const branch of branches) collect(branch, root, found, seen);
  }
}
