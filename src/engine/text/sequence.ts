// One choice of a request while it lives: its tokens, how far they are computed, its pages, and what turns its tokens
// into text.

import type { Detokenizer } from '../../files/detokenizer.ts';
import type { StopMatcher } from './stops.ts';
import type { FinishReason, SamplingOptions, TextEvent } from './text-model.ts';

export interface SequenceSampling extends Required<SamplingOptions> {
  seedLow: number;
  seedHigh: number;
  /** (token, value) pairs. */
  bias: readonly (readonly [token: number, value: number])[];
}

export interface Sequence {
  choice: number;
  promptTokens: number;
  /** Prompt and what has been generated and read back. */
  ids: number[];
  /** Positions whose KV is written or about to be by steps already submitted. */
  computed: number;
  /** Tokens sampled by submitted steps, not read back yet. */
  inFlight: number;
  pages: number[];
  /** Where the device keeps its last token; null while it waits. */
  slot: number | null;
  maxTokens: number;
  sampling: SequenceSampling;
  stopIds: ReadonlySet<number>;
  stops: StopMatcher;
  detokenizer: Detokenizer;
  /** Ids whose text is still held back. */
  heldIds: number[];
  finished: boolean;
  /** Times the device was lost while it ran. */
  losses: number;
  emit: (event: TextEvent) => void;
  fail: (error: Error) => void;
}

/** Tokens there will be once the submitted steps are through. */
export function expectedLength(sequence: Sequence): number {
  return sequence.ids.length + sequence.inFlight;
}

/** Whether one more token may be asked for. */
export function mayGrow(sequence: Sequence): boolean {
  return expectedLength(sequence) - sequence.promptTokens < sequence.maxTokens;
}

/** Takes in a token that came back, and says it to the client; ends the sequence where it stops. */
export function acceptToken(sequence: Sequence, id: number): void {
  sequence.ids.push(id);
  const generated = sequence.ids.length - sequence.promptTokens;
  if (sequence.stopIds.has(id)) {
    finish(sequence, 'stop', id);
    return;
  }
  sequence.heldIds.push(id);
  const { text, matched } = sequence.stops.push(sequence.detokenizer.push(id));
  if (text !== '') send(sequence, text);
  if (matched !== null) finish(sequence, 'stop', matched);
  else if (generated >= sequence.maxTokens) finish(sequence, 'length', null);
}

export function finish(sequence: Sequence, reason: FinishReason, matchedStop: string | number | null): void {
  if (sequence.finished) return;
  sequence.finished = true;
  if (typeof matchedStop !== 'string') {
    const { text, matched } = sequence.stops.push(sequence.detokenizer.flush());
    const rest = matched === null ? text + sequence.stops.flush() : text;
    if (rest !== '' || sequence.heldIds.length > 0) send(sequence, rest);
  }
  sequence.emit({
    type: 'done',
    choice: sequence.choice,
    finishReason: reason,
    matchedStop,
    completionTokens: sequence.ids.length - sequence.promptTokens,
  });
}

function send(sequence: Sequence, text: string): void {
  sequence.emit({ type: 'delta', choice: sequence.choice, text, ids: sequence.heldIds });
  sequence.heldIds = [];
}
