// Parser of a tool call with tags around each argument. The arguments become JSON text, typed by the tool's schema.

import { toolName, type CallContext } from './call-context.ts';
import { elements } from './element-values.ts';
import type { NestedBody, TaggedBody, Tags } from './format.ts';
import { escapeJson } from './json-text.ts';
import { character, match, peek, plainMarker, run, sees, space, until, type Parse } from './reader.ts';
import { beginsOf } from './tag-bodies.ts';
import { isJsonObject, isText, isUndeclared, kindsOf, parsed, toJson, type Kinds } from './typed-value.ts';

/** Reads a call with tags around its arguments, which is certain to be one after the end of its name. */
export function* taggedCall(context: CallContext, body: TaggedBody | NestedBody): Parse<boolean> {
  const { reader, marker, parts, ends } = context;
  const { begin, end } = body.name;
  const from = reader.at;
  if (begin !== '' && !(yield* match(reader, beginsOf(body.name).map(marker)))) return false;
  if (begin !== '') parts.beginName(reader, from);
  const name = yield* body.entities ? escapedName(context) : toolName(context);
  if (name === null) return false;
  const keys = body.nested ? [] : beginsOf(body.key).map(marker);
  if (end === '') {
    parts.beginArguments('tagged', name, reader);
    yield* space(reader);
    if (!(yield* sees(reader, [...keys, ...ends]))) return false;
  } else {
    yield* space(reader);
    if (!(yield* match(reader, [marker(end)]))) return false;
    if (body.name.number && !(yield* callNumber(context, body.name.number))) return false;
    parts.beginArguments('tagged', name, reader);
  }
  parts.openCall(name);
  parts.arguments('{');
  const parameters = context.tools.find((tool) => tool.function.name === name)?.function.parameters;
  const closing = body.close === undefined ? ends : [marker(body.close)];
  const areWhole = body.nested
    ? yield* elements(context, body, parameters)
    : yield* taggedArguments(context, body, parameters);
  if (!areWhole) return true;
  // If the reply was cut off, its arguments are not completed.
  if ((yield* peek(reader)) !== null) parts.arguments('}');
  if (body.close !== undefined) yield* match(reader, closing);
  else yield* sees(reader, ends); // the tag that ends the call ends its arguments, too
  return true;
}

/** Reads the name of a tool, with or without entities; null: none of the tools' names is here. */
function* escapedName({ reader, names }: CallContext): Parse<string | null> {
  const escaped = names.map(({ text }) => plainMarker(escapeEntities(text)));
  const found = yield* match(reader, [...names, ...escaped]);
  return found && unescapeEntities(found.text);
}

function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

function unescapeEntities(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

/** Reads the number of a call and the text around it; false: there is none. */
function* callNumber({ reader, marker }: CallContext, { begin, end }: Tags): Parse<boolean> {
  if (!(yield* match(reader, [marker(begin)]))) return false;
  yield* run(reader, /\d/, MOST_DIGITS);
  return (yield* match(reader, [marker(end)])) !== null;
}

const MOST_DIGITS = 16;

/** Emits all arguments as members of an object; false: the reply ended within one. */
function* taggedArguments(context: CallContext, body: TaggedBody, parameters: unknown): Parse<boolean> {
  const { reader, marker, parts } = context;
  const keys = beginsOf(body.key).map(marker);
  for (let nth = 0; ; nth++) {
    yield* space(reader);
    if (!(yield* match(reader, keys))) return true;
    const written = (yield* taggedKey(context, body))?.trim();
    if (written === undefined) return false;
    const key = body.entities ? unescapeEntities(written) : written;
    if (yield* lacksValue(context, body)) {
      nth--;
      continue;
    }
    const begin = `${nth > 0 ? ', ' : ''}${JSON.stringify(key)}: `;
    const kinds = kindsOf(parameters, key);
    if (nth === 0 && WRAPPERS.has(key) && isUndeclared(parameters, key)) {
      let text = '';
      const value = yield* taggedValue(context, body, kinds, (more) => void (text += more));
      yield* space(reader);
      const members = value && !(yield* sees(reader, keys)) ? membersOf(text) : null;
      parts.arguments(members ?? `${begin}${text}`);
      if (!value) return false;
      continue;
    }
    parts.arguments(begin);
    if (!(yield* taggedValue(context, body, kinds, (more) => parts.arguments(more)))) return false;
  }
}

/** Whether the next key, or the end of the call, follows a key in place of the tag that opens its value. */
function* lacksValue({ reader, marker, ends }: CallContext, { key, value }: TaggedBody): Parse<boolean> {
  if (value.begins.some(({ text }) => !text.startsWith('<'))) return false;
  yield* space(reader);
  return yield* sees(reader, [...beginsOf(key).map(marker), ...ends]);
}

/** Names of an argument in which models wrap all arguments as one object. */
const WRAPPERS = new Set(['arguments', 'input', 'parameters', 'properties']);

/** Members of an object in JSON, which may be the text of a JSON string; null: it is no object. */
function membersOf(json: string): string | null {
  const value = parsed(json);
  const text = typeof value === 'string' ? value.trim() : json;
  return isJsonObject(text) ? text.slice(1, -1).trim() : null;
}

/** Reads a parameter's name; null: the reply ended within it. */
function* taggedKey({ reader, marker }: CallContext, { key, mayLackEnds }: TaggedBody): Parse<string | null> {
  let name = '';
  if (!mayLackEnds || key.end !== '>') {
    return (yield* until(reader, marker(key.end), (text) => void (name += text))) ? name : null;
  }
  name = yield* run(reader, /[^\r\n<>]/);
  if ((yield* peek(reader)) === null) return null;
  yield* match(reader, [marker(key.end)]);
  return name;
}

/** Whether a value without end tag ends at the current position: before the next key, or at the end of the call. */
function* endsUnclosed({ reader, marker, ends, opener }: CallContext, body: TaggedBody): Parse<boolean> {
  if (yield* sees(reader, beginsOf(body.key).map(marker))) return true;
  const from = reader.at;
  const closes = body.close === undefined ? [] : [marker(body.close)];
  const ended = yield* match(reader, [...closes, ...ends]);
  // An end tag that belongs to the value is followed by more of the value.
  yield* space(reader);
  const follow = [marker(body.name.begin), ...(opener ? [opener] : []), ...ends];
  const certain = ended !== null && ((yield* peek(reader)) === null || (yield* sees(reader, follow)));
  reader.at = from;
  return certain;
}

const STRING: Kinds = new Set(['string'] as const);
const ANY: Kinds = new Set();

/** Types of a value whose tag says that it is text: the schema decides if it allows no text. */
function textKinds(kinds: Kinds): Kinds {
  return kinds.size === 0 || kinds.has('string') ? STRING : kinds;
}

/** Reads the value after a key; false: the reply ended within it. */
function* taggedValue(
  context: CallContext,
  body: TaggedBody,
  kinds: Kinds,
  take: (json: string) => void,
): Parse<boolean> {
  const { reader, marker } = context;
  const begins = body.value.begins.filter(({ text }) => text !== '');
  if (begins.length > 0) yield* space(reader);
  const opening = yield* match(
    reader,
    begins.map(({ text }) => marker(text.trimStart())),
  );
  const begun = begins.find(({ text }) => text.trimStart() === opening?.text);
  const reads = begun?.reads ?? 'schema';
  const wanted = reads === 'schema' ? kinds : reads === 'text' ? textKinds(kinds) : ANY;
  if (body.newlines) yield* character(reader, '\n');
  const end = marker(begun?.end ?? body.value.end);
  /** A line break that is dropped if the end tag follows. */
  let lineBreak = '';
  const unlessLast = (text: string): string => {
    const all = lineBreak + text;
    lineBreak = body.newlines && all.endsWith('\n') ? '\n' : '';
    return all.slice(0, all.length - lineBreak.length);
  };
  const unclosed = body.mayLackEnds ? () => endsUnclosed(context, body) : undefined;
  if (!isText(wanted)) {
    let text = '';
    const whole = yield* until(reader, end, (more) => void (text += unlessLast(more)), unclosed);
    const json = toJson(whole ? text : text + lineBreak, wanted);
    // A value that the schema declares as text stays text, whatever its tag says.
    take(isText(kinds) && !json.startsWith('"') ? JSON.stringify(text) : json);
    return whole;
  }
  take('"');
  const whole = yield* until(reader, end, (text) => take(escapeJson(unlessLast(text))), unclosed);
  take(whole ? '"' : escapeJson(lineBreak));
  return whole;
}
