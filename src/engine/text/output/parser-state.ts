// State that the parsers of tagged replies and of replies in channels share while they read one choice.

import type { Tool } from '../text-model.ts';
import type { Parts } from './parts.ts';
import type { Marker, Reader } from './reader.ts';
import type { Begins } from './reply-start.ts';

export interface OutputParserOptions {
  /** Tools whose calls are recognized; null: calls are text. */
  tools: readonly Tool[] | null;
  /** The prompt has opened the reasoning, or the answer, already. */
  begins: Begins;
  separateReasoning: boolean;
  streamReasoning: boolean;
  /** Reasoning waits for the answer; where there comes none, it is the answer. */
  reasoningFills?: boolean;
  /** The reply is over with its first call. */
  singleCall: boolean;
  /** Calls of other tools are text. */
  listedOnly: boolean;
  /** A grammar holds the reply to calls. */
  callsOnly?: boolean;
  /** See markerMaker. */
  marker(text: string): Marker;
  /** Left out: random ones. */
  callId?: () => string;
}

export interface ParserState {
  reader: Reader;
  parts: Parts;
  marker(text: string): Marker;
  options: OutputParserOptions;
  /** Token at which the reasoning that is open began. */
  reasoningFrom: number | null;
  reasoningTokens: number;
}

/** `next` is the first token behind it. */
export function closeReasoning(state: ParserState, next: number): void {
  state.reasoningTokens += next - (state.reasoningFrom ?? next);
  state.reasoningFrom = null;
}
