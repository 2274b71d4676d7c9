// Collects the output of a reply's parser into the parts of one push. A token belongs to the first part that appears after it was
// pushed. Line breaks and spaces that only separate a call or the reasoning are left out, since templates write them again: the next prompt
// then begins as this one and its reply did. Around calls between content they stay.

import type { Piece } from '../calls/piece.ts';
import type { TokenLogprob } from '../calls/text-model.ts';
import type { ArgumentSyntax, OpenArguments, OpenName, OutputPart } from '../calls/output-parser.ts';
import { writtenSince, type Reader } from './reader.ts';
import { isJsonObject } from './typed-value.ts';

export interface PartCollectorOptions {
  /** false: reasoning is part of the content, tags included. */
  separateReasoning: boolean;
  /** false: reasoning is reported in one part. */
  streamReasoning: boolean;
  /** Reasoning is withheld until the answer begins; without an answer it is returned as the answer. */
  reasoningFills?: boolean;
  /** Space at the end of content is withheld, and dropped if a call follows, or if reasoning begins before any text. */
  withholdSpace: boolean;
  /** Only calls can occur: other text is part of a call that was cut off before its name, and is dropped. */
  callsOnly?: boolean;
  callId: () => string;
}

/** Maximum number of space characters that are withheld, so that a reply of repeated space still streams. */
const MOST_SPACE = 256;

export class PartCollector {
  readonly #options: PartCollectorOptions;
  readonly #streamsReasoning: boolean;
  #parts: OutputPart[] = [];
  /** Tokens that are not in a part yet. */
  #pendingTokens: { ids: number[]; logprobs: TokenLogprob[] } = { ids: [], logprobs: [] };
  #hasContent = false;
  #calls = 0;
  #inReasoning = false;
  /** Kind of the part to which text was added last. */
  #lastKind: OutputPart['kind'] = 'content';
  /** Withheld space, which is left out if a call follows. */
  #pendingSpace = '';
  /** Space between content and calls or reasoning after it, which is left out unless more content follows. */
  #spaceAside = '';
  /** Whether nothing but space follows the last call. */
  #isAfterCall = false;
  /** Whether line breaks are dropped until other text follows. */
  #atStart = false;
  /** Arguments of the last call. */
  #arguments = '';
  /** Number of calls before the last one whose arguments are a JSON object. */
  #wholeCalls = 0;
  /** Name of the tool of the last call. */
  #tool = '';
  #isCallOpen = false;
  /** Whether text is read that comes before the arguments of what may be a call. */
  #isNameAwaited = false;
  #openName: OpenName | null = null;
  /** Number of names that have begun. */
  #begunNames = 0;
  #openArguments: OpenArguments | null = null;
  /** Number of arguments that have begun. */
  #begunArguments = 0;
  /** Kinds that have text. */
  readonly #written = new Set<'content' | 'reasoning'>();
  /** Kind whose next text begins a message of its own. */
  #nextMessage: 'content' | 'reasoning' | null = null;
  /** Withheld reasoning, which is reported in one part. */
  #pendingReasoning = '';

  constructor(options: PartCollectorOptions) {
    this.#options = options;
    this.#streamsReasoning = options.streamReasoning && options.reasoningFills !== true;
  }

  /** Whether there is content other than space. */
  get hasContent(): boolean {
    return this.#hasContent;
  }

  /** Whether there is neither a call nor content other than space. */
  get blank(): boolean {
    return !this.#hasContent && this.#calls === 0;
  }

  get calls(): number {
    return this.#calls;
  }

  /** See OutputParser. */
  get callsAreWhole(): boolean {
    return this.#calls > 0 && this.#wholeCalls === this.#calls - 1 && isJsonObject(this.#arguments);
  }

  /** See OutputParser. */
  get openArguments(): OpenArguments | null {
    return this.#openArguments;
  }

  /** See OutputParser. */
  get openName(): OpenName | null {
    return this.#openName;
  }

  /** See OutputParser. */
  get awaitsArguments(): boolean {
    if (this.#openArguments !== null && this.#openArguments.syntax !== 'json') return false;
    return this.#isNameAwaited || (this.#isCallOpen && this.#arguments === '');
  }

  token({ id, logprob }: Piece): void {
    if (id !== null) this.#pendingTokens.ids.push(id);
    if (logprob) this.#pendingTokens.logprobs.push(logprob);
  }

  content(text: string): void {
    if (this.#options.callsOnly) return;
    this.#hasContent ||= text.trim() !== '';
    if (this.#hasContent && !this.#inReasoning) this.#releaseReasoning();
    const released = this.#withPendingSpace(text, this.#options.withholdSpace);
    if (released === '') return;
    const separated = this.#spaceAside + released;
    this.#spaceAside = '';
    this.#isAfterCall = false;
    this.#add('content', this.#withBreak('content', separated));
  }

  /** Begins another message of a kind: an empty line separates its text from earlier text of that kind. */
  beginMessage(kind: 'content' | 'reasoning'): void {
    if (!this.#written.has(kind)) return;
    this.#nextMessage = kind;
    this.#pendingSpace = '';
    this.#spaceAside = '';
  }

  openReasoning(tag: string): void {
    this.#inReasoning = true;
    this.#atStart = this.#options.separateReasoning;
    if (this.#atStart) return this.#setSpaceAside();
    this.#add('content', this.#pendingSpace + tag);
    this.#pendingSpace = '';
  }

  reasoning(text: string): void {
    if (!this.#options.separateReasoning) {
      this.#add('content', text);
      return;
    }
    const released = this.#withBreak('reasoning', this.#withPendingSpace(text, true));
    if (this.#streamsReasoning) this.#add('reasoning', released);
    else this.#pendingReasoning += released;
  }

  closeReasoning(tag: string): void {
    this.#inReasoning = false;
    this.#pendingSpace = '';
    if (!this.#options.separateReasoning) {
      this.#add('content', tag);
      return;
    }
    if (!this.#options.reasoningFills) this.#releaseReasoning();
    this.#atStart = !this.#hasContent;
  }

  openCall(name: string, id = this.#options.callId()): void {
    this.#releaseReasoning();
    this.#lastKind = 'toolCall';
    if (this.#calls > 0 && isJsonObject(this.#arguments)) this.#wholeCalls++;
    this.#setSpaceAside();
    this.#arguments = '';
    this.#tool = name;
    this.endName();
    this.#isCallOpen = true;
    this.#parts.push({ kind: 'toolCall', call: this.#calls++, id, name, text: '', ids: [], logprobs: [] });
  }

  arguments(text: string): void {
    if (text !== '') this.#addArguments(text);
  }

  /** Begins a call at a position of the reader's input, which the reader must not forget before the name ends. */
  beginName(reader: Reader, from: number): void {
    this.#openName ??= { nth: ++this.#begunNames, written: () => writtenSince(reader, from) };
  }

  endName(): void {
    this.#openName = null;
  }

  /** Sets whether text is read that comes before the arguments of what may be a call. */
  awaitName(isAwaited: boolean): void {
    this.#isNameAwaited = isAwaited;
  }

  /** Begins arguments of the last call that are JSON and are passed to arguments() exactly as the model wrote them. */
  beginJson(): void {
    this.#begin('json', this.#tool, () => [this.#arguments]);
  }

  /** Begins arguments in another syntax at the reader's position, which the reader must not forget before they end. */
  beginArguments(syntax: ArgumentSyntax, tool: string, reader: Reader): void {
    const from = reader.at;
    this.#begin(syntax, tool, () => writtenSince(reader, from));
  }

  endArguments(): void {
    this.#openArguments = null;
  }

  closeCall(): void {
    this.#isCallOpen = false;
    this.endArguments();
    this.#atStart = !this.#hasContent;
    this.#isAfterCall = true;
  }

  /** The parts since the last call of take(). */
  take(): OutputPart[] {
    const taken = this.#parts;
    this.#parts = [];
    const [first] = taken;
    if (first === undefined || this.#pendingTokens.ids.length === 0) return taken;
    Object.assign(first, this.#pendingTokens);
    this.#pendingTokens = { ids: [], logprobs: [] };
    return taken;
  }

  /** Returns the last parts, with all text that was withheld. */
  end(): OutputPart[] {
    const withheld = this.#pendingReasoning + this.#pendingSpace;
    if (this.#options.reasoningFills && this.blank) this.#add('content', withheld);
    else if (this.#inReasoning && this.#options.separateReasoning) this.#add('reasoning', withheld);
    else if (!this.#isAfterCall) this.#add('content', this.#pendingSpace);
    this.#pendingSpace = '';
    this.#pendingReasoning = '';
    if (this.#parts.length > 0 || this.#pendingTokens.ids.length === 0) return this.take();
    const kind = this.#lastKind;
    if (kind === 'toolCall') this.#addArguments('');
    else this.#parts.push({ kind, text: '', ids: [], logprobs: [] });
    return this.take();
  }

  #begin(syntax: ArgumentSyntax, tool: string, written: OpenArguments['written']): void {
    this.#openArguments = { syntax, tool, nth: ++this.#begunArguments, written };
  }

  #add(kind: 'content' | 'reasoning', text: string): void {
    if (text === '') return;
    this.#lastKind = kind;
    const last = this.#parts.at(-1);
    if (last !== undefined && last.kind === kind) last.text += text;
    else this.#parts.push({ kind, text, ids: [], logprobs: [] });
  }

  #withBreak(kind: 'content' | 'reasoning', text: string): string {
    if (text === '') return text;
    this.#written.add(kind);
    if (this.#nextMessage !== kind) return text;
    this.#nextMessage = null;
    return `\n\n${text}`;
  }

  /** Keeps withheld space behind content for the case that more content follows. */
  #setSpaceAside(): void {
    if (this.#hasContent) this.#spaceAside ||= this.#pendingSpace;
    this.#pendingSpace = '';
  }

  #addArguments(text: string): void {
    this.#lastKind = 'toolCall';
    this.#arguments += text;
    const last = this.#parts.at(-1);
    if (last?.kind === 'toolCall') last.text += text;
    else this.#parts.push({ kind: 'toolCall', call: this.#calls - 1, text, ids: [], logprobs: [] });
  }

  #releaseReasoning(): void {
    this.#add('reasoning', this.#pendingReasoning);
    this.#pendingReasoning = '';
  }

  /** Returns the withheld space and the text. If `withholds`, space at the end of both is withheld again. */
  #withPendingSpace(text: string, withholds: boolean): string {
    const rest = this.#atStart ? text.replace(/^[\r\n]+/, '') : text;
    this.#atStart &&= rest === '';
    const all = this.#pendingSpace + rest;
    const space = withholds ? all.length - all.trimEnd().length : 0;
    const released = all.slice(0, all.length - (space % MOST_SPACE));
    this.#pendingSpace = all.slice(released.length);
    return released;
  }
}
