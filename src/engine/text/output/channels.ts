// Reads replies that consist of messages with headers (harmony). The header's channel separates reasoning from answer; a
// recipient in the header makes the message a call, and its text the arguments.

import type { ChannelFormat } from './format.ts';
import { closeReasoning, type ParserState } from './parser-state.ts';
import { firsts, forget, isOneOf, match, peek, plainMarker, sees, textUntil, type Parse } from './reader.ts';

interface Message {
  kind: 'content' | 'reasoning' | 'call';
  /** Name of the called function; '' without one. */
  name: string;
  header: string;
  /** Index of the generated token with which the header began. */
  token: number;
}

/** Maximum length of a header in characters, apart from the names of tools; longer text is content. */
const LONGEST_HEADER = 256;

export function* readChannels(state: ParserState, format: ChannelFormat): Parse<void> {
  const { reader, parts, options } = state;
  for (let header = options.begins !== 'answer'; ; header = true) {
    forget(reader);
    const unit = yield* peek(reader);
    if (unit === null) return;
    const message = header ? yield* readHeader(state, format) : content(unit.token);
    if (message !== null) yield* readMessage(state, format, message);
    if (options.singleCall && parts.calls > 0) return;
  }
}

function content(token: number): Message {
  return { kind: 'content', name: '', header: '', token };
}

/** Reads a header to the beginning of its message. Text without a header is content; null: the reply ended within the header. */
function* readHeader(state: ParserState, format: ChannelFormat): Parse<Message | null> {
  const { reader, marker } = state;
  const from = reader.at;
  const marks = [format.start, format.channel, format.constrain].map(marker);
  let text = '';
  let called: string | null = null;
  let marked = false;
  let longest = LONGEST_HEADER;
  for (;;) {
    if (called === null && text.endsWith(`to=${format.namespace}`)) {
      called = yield* readRecipient(state, format);
      marked ||= called !== null;
      text += called ?? '';
      longest += called?.length ?? 0;
    }
    if (yield* match(reader, [marker(format.message)])) {
      return toMessage(text + format.message, called, state, format, reader.units[from]!.token);
    }
    const mark = yield* match(reader, marks);
    marked ||= mark !== null;
    text += mark?.text ?? '';
    if (mark) continue;
    const unit = yield* peek(reader);
    if (unit === null && marked) return null;
    if (unit === null || unit.id >= 0 || text.length > longest) break;
    if (!marked && !/^\s*(t(o(=\S*\s?)?)?)?$/.test(text + unit.text)) break;
    reader.at++;
    text += unit.text;
  }
  const { token } = reader.units[from]!;
  if (!marked) reader.at = from;
  return content(token);
}

/** Reads the name of a declared tool after the namespace; null: there is none, and what follows belongs to another name. */
function* readRecipient(
  { reader, parts, options }: ParserState,
  { namespace }: ChannelFormat,
): Parse<string | null> {
  const { tools } = options;
  if (tools === null) return null;
  const from = reader.at;
  parts.beginName(reader, from - `to=${namespace}`.length);
  const found = yield* match(
    reader,
    tools.map(({ function: { name } }) => plainMarker(name)),
  );
  const next = found && (yield* peek(reader));
  parts.endName();
  if (found && (next === null || next.id >= 0 || /[\s<]/.test(next.text))) return found.text;
  reader.at = from;
  return null;
}

/** `called`: name of the tool that is the recipient. */
function toMessage(
  header: string,
  called: string | null,
  { options }: ParserState,
  format: ChannelFormat,
  token: number,
): Message {
  const at = header.lastIndexOf(format.channel);
  const channel = at < 0 ? format.answer : /^\w*/.exec(header.slice(at + format.channel.length))![0];
  const recipient = /\bto=([^\s<]+)/.exec(header)?.[1];
  const name = called ?? recipient;
  const isCall = options.tools?.some((tool) => tool.function.name === name) === true;
  const kind = isCall ? 'call' : channel === format.reasoning ? 'reasoning' : 'content';
  return { kind, name: name ?? '', header, token };
}

/** Reads a message to its end tag, or to the start of the next message. */
function* readMessage(state: ParserState, format: ChannelFormat, message: Message): Parse<void> {
  const { reader, parts, marker } = state;
  const ends = [format.end, ...format.ends].map(marker);
  const starts = [format.start, format.channel].map(marker);
  const stops = firsts([...ends, ...starts]);
  let any = false;
  let isCut = false;
  begin(state, message);
  for (;;) {
    forget(reader);
    const unit = yield* peek(reader);
    if (unit === null) {
      isCut = true;
      break;
    }
    const mayEnd = isOneOf(unit, stops);
    const end = mayEnd ? yield* match(reader, ends) : null;
    if (end || (mayEnd && (yield* sees(reader, starts)))) {
      if (message.kind === 'reasoning') {
        closeReasoning(state, end ? reader.units[reader.at - 1]!.token + 1 : unit.token);
        parts.closeReasoning(end?.text ?? '');
      }
      break;
    }
    const text = textUntil(reader, stops);
    if (message.kind === 'call') parts.arguments(text);
    else parts[message.kind](text);
    any = true;
  }
  if (message.kind !== 'call') return;
  if (!any && !isCut) parts.arguments('{}');
  parts.closeCall();
}

function begin(state: ParserState, { kind, name, header, token }: Message): void {
  if (kind === 'call') {
    state.parts.openCall(name);
    state.parts.beginJson();
  }
  if (kind !== 'call' && state.options.separateReasoning) state.parts.beginMessage(kind);
  if (kind !== 'reasoning') return;
  state.reasoningFrom = token;
  state.parts.openReasoning(header);
}
