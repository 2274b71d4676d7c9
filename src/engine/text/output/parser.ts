// Splits the tokens of one choice into content, reasoning and tool calls. The markers of these parts come from the
// tables of formats. The parser is one generator, which receives token by token.

import type { Tool } from '../calls/text-model.ts';
import { beginsBare, callOpeners, readCalls, sectionsOf, type CallsOptions } from './calls.ts';
import { readChannels } from './channels.ts';
import type { Begins, OutputFormat, ReasoningFormat, Tags } from './format.ts';
import { plainOutput, type OutputParser } from '../calls/output-parser.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { ReplyContext, ReplyPlan } from './reply-plan.ts';
import { closeReasoning, type OutputParserOptions, type ParserState } from './parser-state.ts';
import { PartCollector } from './part-collector.ts';
import {
  createReader,
  firsts,
  forget,
  isOneOf,
  markerMaker,
  match,
  peek,
  plainMarker,
  sees,
  space,
  textUntil,
  type Marker,
  type Parse,
} from './reader.ts';

export function createOutputParser(format: OutputFormat, options: OutputParserOptions): OutputParser {
  const reader = createReader();
  const parts = new PartCollector({
    ...options,
    separateReasoning: options.separateReasoning && format.reasoning?.joined !== true,
    withholdSpace: options.tools !== null || format.reasoning !== null,
    callId: options.callId ?? (() => callId(format.tools?.idLength)),
  });
  const { marker } = options;
  const state: ParserState = { reader, parts, marker, options, reasoningFrom: null, reasoningTokens: 0 };
  const parse = format.channels ? readChannels(state, format.channels) : readReply(state, format);
  let tokens = 0;
  let ended = false;
  parse.next();
  return {
    push(piece) {
      const { id, text, special } = piece;
      parts.token(piece);
      if (id !== null) tokens++;
      const token = Math.max(0, tokens - 1);
      if (special && id !== null) reader.units.push({ text, id, token });
      else for (let at = 0; at < text.length; at++) reader.units.push({ text: text[at]!, id: -1, token });
      ended ||= parse.next().done === true;
      return parts.take();
    },
    flush() {
      reader.ended = true;
      ended = true;
      parse.next();
      return parts.end();
    },
    get toolCalls() {
      return parts.calls;
    },
    get callsAreWhole() {
      return parts.callsAreWhole;
    },
    get openArguments() {
      return parts.openArguments;
    },
    get openName() {
      return parts.openName;
    },
    get awaitsArguments() {
      return parts.awaitsArguments;
    },
    get reasoningTokens() {
      if (format.reasoning === null && format.channels === null) return null;
      return state.reasoningTokens + (state.reasoningFrom === null ? 0 : tokens - state.reasoningFrom);
    },
    get ended() {
      return ended;
    },
  };
}

const LETTERS_AND_DIGITS = Array.from('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');

/** A random call id: `call_` and 24 hexadecimal digits, as of other OpenAI-compatible servers, or `length` letters and digits. */
function callId(length?: number): string {
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(length ?? 12)));
  if (length !== undefined)
    return bytes.map((byte) => LETTERS_AND_DIGITS[byte % LETTERS_AND_DIGITS.length]).join('');
  return `call_${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Reads a reply in which tags mark reasoning and calls; text outside tags is content. */
function* readReply(state: ParserState, { tools: format, reasoning }: OutputFormat): Parse<void> {
  const { reader, parts, marker, options } = state;
  const callMarkers = format && options.tools ? callOpeners(format).map(marker) : [];
  const thinkMarkers = reasoning ? tagsOf(reasoning).map(({ begin }) => marker(begin)) : [];
  const dropped = droppedTags(reasoning).map(marker);
  const header = reasoning?.header === undefined ? [] : [marker(reasoning.header)];
  const endMarkers = reasoning ? tagsOf(reasoning).map(({ end }) => marker(end)) : [];
  const bare = format?.anywhere && options.tools ? Array.from(format.bare ?? '', plainMarker) : [];
  const special = firsts([...callMarkers, ...thinkMarkers, ...endMarkers, ...dropped, ...header, ...bare]);
  const calls = format && options.tools ? callsOptions(state, format, options.tools) : null;
  // Without markers, each character may begin a call until there is content.
  const readText = (): void => {
    if (!format?.bare || !parts.blank) return parts.content(textUntil(reader, special));
    parts.content(reader.units[reader.at++]!.text);
  };
  if (header.length > 0 && options.begins === 'undecided') yield* readHeader(state, special);
  if (reasoning && options.begins === 'reasoning') yield* readReasoning(state, reasoning, callMarkers, false);
  for (;;) {
    forget(reader);
    const unit = yield* peek(reader);
    if (unit === null) return;
    if (calls && (yield* beginsBare(calls))) {
      yield* readCalls(calls);
    } else if (isOneOf(unit, special)) {
      const mayThink = reasoning !== null && (parts.blank || reasoning.repeats === true);
      if (mayThink && (yield* sees(reader, thinkMarkers))) {
        yield* readReasoning(state, reasoning, callMarkers, true);
        continue;
      }
      // Some models close reasoning twice, or close what the prompt has closed.
      if (parts.blank && (yield* match(reader, endMarkers))) {
        parts.closeReasoning('');
        continue;
      }
      if (yield* match(reader, header)) {
        yield* readHeader(state, special);
        continue;
      }
      if (yield* match(reader, dropped)) continue;
      if (!calls || !(yield* sees(reader, callMarkers))) {
        readText();
        continue;
      }
      yield* readCalls(calls);
    } else {
      readText();
      continue;
    }
    if (options.singleCall && parts.calls > 0) return;
  }
}

/** Tags that are not part of the answer. */
function droppedTags(format: ReasoningFormat | null): string[] {
  const { answer, dropped = [] } = format ?? {};
  return answer ? [answer.begin, answer.end, ...dropped] : [...dropped];
}

/** Maximum length of the text between the tag of a message and the next tag; longer text is content. */
const LONGEST_HEADER = 256;

/** Drops text up to the next tag. Without one it is content. */
function* readHeader({ reader, parts }: ParserState, tags: ReadonlySet<string | number>): Parse<void> {
  let text = '';
  for (;;) {
    const unit = yield* peek(reader);
    if (unit !== null && isOneOf(unit, tags)) return;
    if (unit === null || text.length >= LONGEST_HEADER) return parts.content(text);
    text += unit.text;
    reader.at++;
  }
}

/** Tags of reasoning in every spelling. */
function tagsOf(format: ReasoningFormat): Tags[] {
  return [format, ...(format.others ?? [])];
}

function callsOptions(
  { reader, parts, marker, options }: ParserState,
  format: NonNullable<OutputFormat['tools']>,
  tools: readonly Tool[],
): CallsOptions {
  const { call } = format;
  const ends = [...(call ? [call] : []), ...sectionsOf(format)].map(({ end }) => end);
  return {
    reader,
    parts,
    marker,
    format,
    tools,
    single: options.singleCall,
    names: tools.map(({ function: { name } }) => plainMarker(name)),
    namesAreIds: format.namesAreIds ?? false,
    anywhere: format.anywhere ?? false,
    ends: ends.map(marker),
    opener: call ? marker(call.begin) : null,
  };
}

/** Reads reasoning from its opening tag (if present) to the end of its closing tag. In some formats a call closes it, too. */
function* readReasoning(
  state: ParserState,
  format: ReasoningFormat,
  callMarkers: readonly Marker[],
  opened: boolean,
): Parse<void> {
  const { reader, parts, marker } = state;
  const begins = tagsOf(format).map(({ begin }) => marker(begin));
  const first = yield* peek(reader);
  state.reasoningFrom = first?.token ?? 0;
  if (!opened) {
    // Some models repeat the opening tag that the prompt ends with.
    const from = reader.at;
    yield* space(reader);
    if (!(yield* sees(reader, begins))) reader.at = from;
  }
  const tag = yield* match(reader, begins);
  // Some models write it twice.
  if (state.options.separateReasoning && !format.joined) while (yield* match(reader, begins));
  parts.openReasoning(tag?.text ?? (format.joined ? format.begin : ''));
  const ends = tagsOf(format).map(({ end }) => marker(end));
  const callsEnd = format.callsEnd ? callMarkers : [];
  const stops = firsts([...ends, ...callsEnd]);
  for (;;) {
    forget(reader);
    const unit = yield* peek(reader);
    if (unit === null) return;
    const mayEnd = isOneOf(unit, stops);
    const end = mayEnd ? yield* match(reader, ends) : null;
    if (end || (mayEnd && (yield* sees(reader, callsEnd)))) {
      closeReasoning(state, end ? reader.units[reader.at - 1]!.token + 1 : unit.token);
      return parts.closeReasoning(end?.text ?? '');
    }
    parts.reasoning(textUntil(reader, stops));
  }
}

/** Parser of the tokens of one choice. */
export function createOutput(plan: ReplyPlan, begins: Begins, { tokenizer }: ReplyContext): OutputParser {
  const { format, tools, thinking } = plan;
  if (!format.tools && !format.reasoning && !format.channels) return plainOutput();
  return createOutputParser(format, {
    tools: tools.mode === 'none' ? null : tools.tools,
    begins,
    separateReasoning: thinking?.separate ?? true,
    streamReasoning: thinking?.stream ?? true,
    reasoningFills: plan.fills,
    singleCall: tools.single,
    callsOnly: tools.mode === 'required',
    marker: markersOf(tokenizer),
  });
}

const makers = new WeakMap<Tokenizer, (text: string) => Marker>();

/** Cached per vocabulary. */
function markersOf(tokenizer: Tokenizer): (text: string) => Marker {
  const known = makers.get(tokenizer);
  if (known) return known;
  const maker = markerMaker((text) => {
    const id = tokenizer.tokenToId(text);
    return id !== null && tokenizer.specialIds.has(id) ? id : undefined;
  });
  makers.set(tokenizer, maker);
  return maker;
}
