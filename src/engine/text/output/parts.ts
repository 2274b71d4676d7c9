// Collects what the parser of a reply finds into the parts of one push. A token belongs to the first part that appears after it was
// pushed. Line breaks and spaces that only separate a call or the reasoning are left out.

import type { Piece } from '../piece.ts';
import type { TokenLogprob } from '../text-model.ts';
import type { OutputPart } from './output-parser.ts';
import { isJsonObject } from './typed-value.ts';

export interface PartsOptions {
  /** false: reasoning is part of the content, tags included. */
  separateReasoning: boolean;
  /** false: reasoning comes in one part. */
  streamReasoning: boolean;
  /** Reasoning is held until the answer comes; without an answer it is the answer. */
  reasoningFills?: boolean;
  /** Space before a call is held and dropped. */
  holdSpace: boolean;
  /** Only calls can occur; other text is part of a call that was cut before its name. */
  callsOnly?: boolean;
  callId: () => string;
}

/** Most characters of space that are held, so that a model that repeats it still streams. */
const MOST_SPACE = 256;

export class Parts {
  readonly #options: PartsOptions;
  readonly #streamsReasoning: boolean;
  #parts: OutputPart[] = [];
  /** Tokens that no part has yet. */
  #pending: { ids: number[]; logprobs: TokenLogprob[] } = { ids: [], logprobs: [] };
  #hasContent = false;
  #calls = 0;
  #inReasoning = false;
  /** Kind of the part that got the last text. */
  #lastKind: OutputPart['kind'] = 'content';
  /** Space that is dropped if a call follows. */
  #heldSpace = '';
  /** Whether line breaks are dropped until other text comes. */
  #atStart = false;
  /** Arguments of the last call. */
  #arguments = '';
  /** Number of calls before the last one whose arguments are a JSON object. */
  #wholeCalls = 0;
  #isVerbatim = false;
  /** Reasoning that is sent in one part. */
  #heldReasoning = '';

  constructor(options: PartsOptions) {
    this.#options = options;
    this.#streamsReasoning = options.streamReasoning && options.reasoningFills !== true;
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
  get openArguments(): string | null {
    return this.#isVerbatim ? this.#arguments : null;
  }

  token({ id, logprob }: Piece): void {
    if (id !== null) this.#pending.ids.push(id);
    if (logprob) this.#pending.logprobs.push(logprob);
  }

  content(text: string): void {
    if (this.#options.callsOnly) return;
    this.#hasContent ||= text.trim() !== '';
    if (this.#hasContent && !this.#inReasoning) this.#releaseReasoning();
    this.#add('content', this.#withoutHeldSpace(text, this.#options.holdSpace));
  }

  openReasoning(tag: string): void {
    this.#inReasoning = true;
    if (!this.#options.separateReasoning) this.#add('content', this.#heldSpace + tag);
    else this.#atStart = true;
    this.#heldSpace = '';
  }

  reasoning(text: string): void {
    if (!this.#options.separateReasoning) {
      this.#add('content', text);
      return;
    }
    const released = this.#withoutHeldSpace(text, true);
    if (this.#streamsReasoning) this.#add('reasoning', released);
    else this.#heldReasoning += released;
  }

  closeReasoning(tag: string): void {
    this.#inReasoning = false;
    this.#heldSpace = '';
    if (!this.#options.separateReasoning) {
      this.#add('content', tag);
      return;
    }
    if (!this.#options.reasoningFills) this.#releaseReasoning();
    this.#atStart = true;
  }

  openCall(name: string, id = this.#options.callId()): void {
    this.#releaseReasoning();
    this.#lastKind = 'toolCall';
    if (this.#calls > 0 && isJsonObject(this.#arguments)) this.#wholeCalls++;
    this.#heldSpace = '';
    this.#arguments = '';
    this.#parts.push({ kind: 'toolCall', call: this.#calls++, id, name, text: '', ids: [], logprobs: [] });
  }

  arguments(text: string): void {
    if (text !== '') this.#addArguments(text);
  }

  /** Whether the following arguments are text as the model wrote it. */
  verbatim(isVerbatim: boolean): void {
    this.#isVerbatim = isVerbatim;
  }

  closeCall(): void {
    this.#isVerbatim = false;
    this.#atStart = true;
  }

  /** The parts since the last call of take(). */
  take(): OutputPart[] {
    const taken = this.#parts;
    this.#parts = [];
    const [first] = taken;
    if (first === undefined || this.#pending.ids.length === 0) return taken;
    Object.assign(first, this.#pending);
    this.#pending = { ids: [], logprobs: [] };
    return taken;
  }

  /** The last parts, with all text that was held. */
  end(): OutputPart[] {
    const held = this.#heldReasoning + this.#heldSpace;
    if (this.#options.reasoningFills && this.blank) this.#add('content', held);
    else if (this.#inReasoning && this.#options.separateReasoning) this.#add('reasoning', held);
    else this.#add('content', this.#heldSpace);
    this.#heldSpace = '';
    this.#heldReasoning = '';
    if (this.#parts.length > 0 || this.#pending.ids.length === 0) return this.take();
    const kind = this.#lastKind;
    if (kind === 'toolCall') this.#addArguments('');
    else this.#parts.push({ kind, text: '', ids: [], logprobs: [] });
    return this.take();
  }

  #add(kind: 'content' | 'reasoning', text: string): void {
    if (text === '') return;
    this.#lastKind = kind;
    const last = this.#parts.at(-1);
    if (last !== undefined && last.kind === kind) last.text += text;
    else this.#parts.push({ kind, text, ids: [], logprobs: [] });
  }

  #addArguments(text: string): void {
    this.#lastKind = 'toolCall';
    this.#arguments += text;
    const last = this.#parts.at(-1);
    if (last?.kind === 'toolCall') last.text += text;
    else this.#parts.push({ kind: 'toolCall', call: this.#calls - 1, text, ids: [], logprobs: [] });
  }

  #releaseReasoning(): void {
    this.#add('reasoning', this.#heldReasoning);
    this.#heldReasoning = '';
  }

  /** The held space and the text; space at its end is held again where `holds`. */
  #withoutHeldSpace(text: string, holds: boolean): string {
    const rest = this.#atStart ? text.replace(/^[\r\n]+/, '') : text;
    this.#atStart &&= rest === '';
    const all = this.#heldSpace + rest;
    const space = holds ? all.length - all.trimEnd().length : 0;
    const released = all.slice(0, all.length - (space % MOST_SPACE));
    this.#heldSpace = all.slice(released.length);
    return released;
  }
}
