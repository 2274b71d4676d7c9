// Parsers of one tool call, one for each syntax of format.ts. Each emits the name as soon as the text is certain to be a
// call, then the arguments as JSON text, piece by piece.

import { toolName, type CallContext } from './call-context.ts';
import type { Body, BracesBody, JsonBody, NamedBody } from './format.ts';
import { copyArguments, copyJson, jsonString } from './json-text.ts';
import { copyMembers, memberKey, PYTHON } from './literals.ts';
import { character, match, peek, run, sees, space, type Parse } from './reader.ts';
import { taggedCall } from './tagged-call.ts';
import { isObject, isText, kindsOf, parsed } from './typed-value.ts';

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

/** Names of the members with which a call within text may begin. */
export function beginningMembers(body: JsonBody): string[] {
  return [body.name ?? '', 'type', ...body.arguments];
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
  // Within text, an object with other members first is part of an answer.
  let begins = parts.blank ? null : beginningMembers(body);
  for (;;) {
    yield* space(reader);
    if (yield* character(reader, ',')) continue;
    if (yield* character(reader, '}')) break;
    const key = yield* jsonString(reader);
    if (context.anywhere && begins && !begins.includes(key ?? '')) return false;
    begins = null;
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
  if (name === null) return context.namesAreIds && (yield* numberedCall(context, body));
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

/** Reads a call whose id is only its number: its arguments tell the tool, if one tool alone declares them. */
function* numberedCall({ reader, marker, parts, tools }: CallContext, body: NamedBody): Parse<boolean> {
  const index = yield* run(reader, /\d/, LONGEST_ID);
  if (index === '' || !(yield* match(reader, [marker(body.separator)]))) return false;
  yield* space(reader);
  let text = '';
  yield* copyArguments(reader, (more) => void (text += more));
  const given = parsed(text);
  if (!isObject(given)) return false;
  const able = tools.filter(({ function: { parameters } }) =>
    Object.keys(given).every((key) => kindsOf(parameters, key).size > 0),
  );
  const [tool] = tools.length === 1 ? tools : able;
  if (tool === undefined || (tools.length > 1 && able.length > 1)) return false;
  const { name } = tool.function;
  parts.openCall(name, `functions.${name}:${index}`);
  parts.arguments(text);
  return true;
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
  take('{');
  yield* copyMembers(reader, { end: ')', separator: '=', first: key }, PYTHON, take);
  return true;
}

/** Reads `name{key:value, …}`, which is certain to be a call after the brace; the tag that ends a call may take the place of the braces. */
function* bracesCall(context: CallContext, body: BracesBody): Parse<boolean> {
  const { reader, marker, parts } = context;
  const befores = body.otherBefore === undefined ? [body.before] : [body.before, body.otherBefore];
  if (!(yield* match(reader, befores.map(marker)))) return false;
  const name = yield* toolName(context);
  if (name === null) return false;
  if (yield* sees(reader, context.ends)) {
    parts.openCall(name);
    parts.arguments('{}');
    return true;
  }
  if ((yield* peek(reader))?.text !== '{') return false;
  parts.beginArguments('braces', name, reader);
  if (!(yield* character(reader, '{'))) return false;
  parts.openCall(name);
  const syntax = { quotes: [marker(body.quote), marker('"')], escapes: false };
  const take = (text: string): void => parts.arguments(text);
  take('{');
  const parameters = context.tools.find((tool) => tool.function.name === name)?.function.parameters;
  const mustBeText = (key: string): boolean => isText(kindsOf(parameters, key));
  yield* copyMembers(reader, { end: '}', separator: ':', isText: mustBeText }, syntax, take);
  return true;
}
