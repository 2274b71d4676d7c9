// Parsers of one tool call, one for each syntax of format.ts. Each emits the name as soon as the text is certain to be a
// call, then the arguments as JSON text, piece by piece.

import type { Tool } from '../calls/text-model.ts';
import type { Body, BracesBody, JsonBody, NamedBody, TaggedBody } from './format.ts';
import { copyArguments, copyJson, escapeJson, jsonString } from './json-text.ts';
import { copyLiteral, copyMembers, memberKey, PYTHON } from './literals.ts';
import type { PartCollector } from './part-collector.ts';
import {
  character,
  match,
  peek,
  run,
  sees,
  space,
  until,
  type Marker,
  type Parse,
  type Reader,
} from './reader.ts';
import { isText, kindsOf, toJson, type Kinds } from './typed-value.ts';

export interface CallContext {
  reader: Reader;
  marker: (text: string) => Marker;
  tools: readonly Tool[];
  /** Their names: no other name makes a call. */
  names: readonly Marker[];
  parts: PartCollector;
  /** Markers that end a call which has no closing tag. */
  ends: readonly Marker[];
  /** Marker that begins each call; null without one. */
  opener: Marker | null;
  namesAreIds: boolean;
}

/** Reads one call. Returns whether a call was emitted; if not, the consumed input is text. */
export function* readCall(context: CallContext, bodies: readonly Body[]): Parse<boolean> {
  const next = yield* peek(context.reader);
  const body = bodies.find(({ kind }) => (kind === 'json') === (next?.text === '{')) ?? bodies[0];
  if (body === undefined) return false;
  context.parts.awaitName(body.kind !== 'json' && body.kind !== 'named');
  const isCall = yield* readBody(context, body);
  context.parts.awaitName(false);
  context.parts.endArguments();
  return isCall;
}

function* readBody(context: CallContext, body: Body): Parse<boolean> {
  switch (body.kind) {
    case 'json':
      return yield* jsonCall(context, body);
    case 'named':
      return yield* namedCall(context, body);
    case 'tagged':
      return yield* taggedCall(context, body);
    case 'python':
      return yield* pythonCall(context);
    case 'braces':
      return yield* bracesCall(context, body);
  }
}

const LONGEST_ID = 256;

/** Reads the name of a tool, whatever characters it has; null: none of the tools' names is here. */
function* toolName({ reader, names }: CallContext): Parse<string | null> {
  return (yield* match(reader, names))?.text ?? null;
}

/** Reads {"name": …, "arguments": …} with its members in any order. Arguments before the name are emitted after it. */
function* jsonCall(context: CallContext, body: JsonBody): Parse<boolean> {
  const { reader, parts } = context;
  if (!(yield* character(reader, '{'))) return false;
  let opened = false;
  let early = '';
  let hasArguments = false;
  const take = (text: string): void => {
    if (opened) parts.arguments(text);
    else early += text;
  };
  for (;;) {
    yield* space(reader);
    if (yield* character(reader, ',')) continue;
    if (yield* character(reader, '}')) break;
    const key = yield* jsonString(reader);
    yield* space(reader);
    if (key === null || !(yield* character(reader, ':'))) return opened;
    yield* space(reader);
    if (!opened && (body.name === null || key === body.name)) {
      const name = body.name === null ? key : yield* jsonString(reader);
      if (name === null || !context.tools.some((tool) => tool.function.name === name)) return false;
      parts.openCall(name);
      opened = true;
      parts.arguments(early);
      if (body.name !== null) continue;
    } else if (!body.arguments.includes(key) || hasArguments) {
      yield* copyJson(reader, () => {});
      continue;
    }
    if (opened) parts.beginJson();
    yield* copyArguments(reader, take);
    parts.endArguments();
    hasArguments = true;
  }
  if (opened && !hasArguments) parts.arguments('{}');
  return opened;
}

function* namedCall(context: CallContext, body: NamedBody): Parse<boolean> {
  const { reader, marker, parts } = context;
  if (body.before !== undefined && !(yield* match(reader, [marker(body.before)]))) return false;
  if (context.namesAreIds) yield* match(reader, [marker('functions.')]);
  const name = yield* toolName(context);
  if (name === null) return false;
  const isNumbered = context.namesAreIds && (yield* character(reader, ':'));
  const index = isNumbered ? yield* run(reader, /\d/, LONGEST_ID) : '';
  yield* space(reader);
  if (body.aside !== undefined && (yield* match(reader, [marker(body.aside)]))) {
    yield* run(reader, /[^\s<>[\]{}]/, LONGEST_ID);
  }
  if (!(yield* match(reader, [marker(body.separator.trim())]))) {
    const next = body.mayLackSeparator ? yield* peek(reader) : null;
    if (next?.text !== '{' || next.id >= 0) return false;
  }
  parts.openCall(name, context.namesAreIds ? `functions.${name}:${index || parts.calls}` : undefined);
  yield* space(reader);
  parts.beginJson();
  yield* copyArguments(reader, (text) => parts.arguments(text));
  parts.endArguments();
  yield* space(reader);
  if (body.after !== undefined) yield* match(reader, [marker(body.after.trim())]);
  return true;
}

function* taggedCall(context: CallContext, body: TaggedBody): Parse<boolean> {
  const { reader, marker, parts, ends } = context;
  const { begin, end } = body.name;
  const from = reader.at;
  if (begin !== '' && !(yield* match(reader, [marker(begin)]))) return false;
  if (begin !== '') parts.beginName(reader, from);
  const name = yield* toolName(context);
  if (name === null) return false;
  const keys = [marker(body.key.begin)];
  if (end === '') {
    parts.beginArguments('tagged', name, reader);
    yield* space(reader);
    if (!(yield* sees(reader, [...keys, ...ends]))) return false;
  } else {
    yield* space(reader);
    if (!(yield* match(reader, [marker(end)]))) return false;
    parts.beginArguments('tagged', name, reader);
  }
  parts.openCall(name);
  parts.arguments('{');
  const parameters = context.tools.find((tool) => tool.function.name === name)?.function.parameters;
  const closing = body.close === undefined ? ends : [marker(body.close)];
  for (let nth = 0; ; nth++) {
    yield* space(reader);
    if (!(yield* match(reader, keys))) break;
    const key = yield* taggedKey(context, body);
    if (key === null) return true;
    parts.arguments(`${nth > 0 ? ', ' : ''}${JSON.stringify(key.trim())}: `);
    if (!(yield* taggedValue(context, body, kindsOf(parameters, key.trim())))) return true;
  }
  // If the reply was cut off, its arguments are not completed.
  if ((yield* peek(reader)) !== null) parts.arguments('}');
  if (body.close !== undefined) yield* match(reader, closing);
  else yield* sees(reader, ends); // the tag that ends the call ends its arguments, too
  return true;
}

/** Reads a parameter's name; null: the reply ended within it. */
function* taggedKey({ reader, marker }: CallContext, { key, mayLackEnds }: TaggedBody): Parse<string | null> {
  let name = '';
  if (!mayLackEnds) {
    return (yield* until(reader, marker(key.end), (text) => void (name += text))) ? name : null;
  }
  name = yield* run(reader, /[^\r\n<>]/);
  if ((yield* peek(reader)) === null) return null;
  yield* match(reader, [marker(key.end)]);
  return name;
}

/** Whether a value without end tag ends at the current position: before the next key, or at the end of the call. */
function* endsUnclosed({ reader, marker, ends, opener }: CallContext, body: TaggedBody): Parse<boolean> {
  if (yield* sees(reader, [marker(body.key.begin)])) return true;
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

/** Reads the value after a key; false: the reply ended within it. */
function* taggedValue(context: CallContext, body: TaggedBody, kinds: Kinds): Parse<boolean> {
  const { reader, marker, parts } = context;
  const begins = body.value.begins.filter(({ text }) => text !== '');
  if (begins.length > 0) yield* space(reader);
  const opening = yield* match(
    reader,
    begins.map(({ text }) => marker(text.trimStart())),
  );
  const begun = begins.find(({ text }) => text.trimStart() === opening?.text);
  const reads = begun?.reads ?? 'schema';
  const wanted = reads === 'schema' ? kinds : reads === 'text' ? STRING : ANY;
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
    parts.arguments(toJson(whole ? text : text + lineBreak, wanted));
    return whole;
  }
  parts.arguments('"');
  const take = (text: string): void => parts.arguments(escapeJson(unlessLast(text)));
  const whole = yield* until(reader, end, take, unclosed);
  parts.arguments(whole ? '"' : escapeJson(lineBreak));
  return whole;
}

/** Reads `name(key=value, …)`, which is certain to be a call after the first key or the closing bracket. */
function* pythonCall(context: CallContext): Parse<boolean> {
  const { reader, parts } = context;
  const name = yield* toolName(context);
  if (name === null || !(yield* character(reader, '('))) return false;
  parts.endName();
  parts.beginArguments('python', name, reader);
  yield* space(reader);
  if (yield* character(reader, ')')) {
    parts.openCall(name);
    parts.arguments('{}');
    return true;
  }
  const key = yield* memberKey(reader, '=', PYTHON);
  if (key === null) return false;
  parts.openCall(name);
  const take = (text: string): void => parts.arguments(text);
  take(`{"${key}": `);
  yield* space(reader);
  if (!(yield* copyLiteral(reader, PYTHON, take))) return true;
  yield* space(reader);
  if (yield* character(reader, ',')) {
    yield* space(reader);
    const next = yield* peek(reader);
    if (next !== null && next.text !== ')') take(', ');
  }
  yield* copyMembers(reader, ')', '=', PYTHON, take);
  return true;
}

/** Reads `name{key:value, …}`, which is certain to be a call after the brace. */
function* bracesCall(context: CallContext, body: BracesBody): Parse<boolean> {
  const { reader, marker, parts } = context;
  if (!(yield* match(reader, [marker(body.before)]))) return false;
  const name = yield* toolName(context);
  if (name === null || (yield* peek(reader))?.text !== '{') return false;
  parts.beginArguments('braces', name, reader);
  if (!(yield* character(reader, '{'))) return false;
  parts.openCall(name);
  const syntax = { quotes: [marker(body.quote), marker('"')], escapes: false };
  const take = (text: string): void => parts.arguments(text);
  take('{');
  yield* copyMembers(reader, '}', ':', syntax, take);
  return true;
}
