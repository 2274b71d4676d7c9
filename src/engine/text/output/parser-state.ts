// State of one choice, shared by the parsers of tagged replies and of replies in channels.

import type { Tool } from '../calls/text-model.ts';
import type { PartCollector, PartCollectorOptions } from './part-collector.ts';
import type { Marker, Reader } from './reader.ts';
import type { Begins } from './format.ts';

export interface OutputParserOptions extends Omit<PartCollectorOptions, 'withholdSpace' | 'callId'> {
  /** Tools whose calls are recognised: any other call is text. null: all calls are. */
  tools: readonly Tool[] | null;
  /** Part of the reply that the prompt has opened already: the reasoning or the answer. */
  begins: Begins;
  /** The reply ends after its first call. */
  singleCall: boolean;
  /** See markerMaker. */
  marker(text: string): Marker;
  /** Generator of call ids. Default: random ids. */
  callId?: () => string;
}

export interface ParserState {
  reader: Reader;
  parts: PartCollector;
  marker(text: string): Marker;
  options: OutputParserOptions;
  /** Index of the token with which the open reasoning began; null: no reasoning is open. */
  reasoningFrom: number | null;
  reasoningTokens: number;
}

/** Counts the tokens of the open reasoning and closes it. `next`: index of the first token after it. */
export function closeReasoning(state: ParserState, next: number): void {
  state.reasoningTokens += next - (state.reasoningFrom ?? next);
  state.reasoningFrom = null;
}
