// One choice of a request while it lives: its tokens, how far they are computed, its pages, and what turns its tokens
// into text.

import { EngineError } from '../../files/error.ts';
import type { Adapter } from './adapters.ts';
import type { Constraint } from './constraint.ts';
import type { OutputParser, OutputPart } from './output/output-parser.ts';
import type { Piece, Pieces } from './piece.ts';
import type { SequencePrefix } from './cache/sequence-pages.ts';
import type { Recorder } from './recorder.ts';
import { splitPieces, textOf, type StopMatcher } from './stops/stops.ts';
import type { FinishReason, SamplingOptions, TextEvent, TokenLogprob } from './text-model.ts';
import type { TokenCounts } from './token-counts.ts';

export interface SequenceSampling extends Required<SamplingOptions> {
  seedLow: number;
  seedHigh: number;
  frequencyPenalty: number;
  presencePenalty: number;
  /** (token, value) pairs. */
  bias: readonly TokenBias[];
  /** The same where the end tokens must not come. */
  biasBelowMin: readonly TokenBias[];
  /** Best tokens to tell with each token; null: no log probabilities. */
  logprobs: number | null;
}

export type TokenBias = readonly [token: number, value: number];

export interface Sequence {
  choice: number;
  /** The request's first choice, whose prompt the others share; null: it is the first. */
  leader: Sequence | null;
  /** Higher comes first. */
  priority: number;
  /** Order of coming. */
  arrival: number;
  /** Times that others were let in before it. */
  passed: number;
  prefix: SequencePrefix;
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
  /** Those of them with which the model itself ends a reply. */
  endIds: readonly number[];
  /** Tokens before which nothing ends it but its length. */
  minTokens: number;
  /** The stop stays in the text. */
  keepStop: boolean;
  /** What its tokens may be; null: anything. */
  constraint: Constraint | null;
  /** Tokens that must come next, one a pass; [] where none must, or they were taken in without one. */
  forced: readonly number[];
  /** Bits of the tokens that may come at all; null: all of them. */
  allowed: Uint32Array | null;
  /** Its own function on logits, in WGSL. */
  processor: string | null;
  /** null: nobody asks. */
  counts: TokenCounts | null;
  pieces: Pieces;
  stops: StopMatcher;
  output: OutputParser;
  /** Of tokens whose text is still to come. */
  held: OutputPart | null;
  /** null: the model as it is. */
  adapter: Adapter | null;
  /** What is asked of the model's inside; null: nothing. */
  recorder: Recorder | null;
  finished: boolean;
  /** Times the device was lost while it ran. */
  losses: number;
  emit: (event: TextEvent) => void;
}

/** Tokens there will be once the submitted steps are through. */
export function expectedLength(sequence: Sequence): number {
  return sequence.ids.length + sequence.inFlight;
}

/** Whether one more token may be asked for. */
export function mayGrow(sequence: Sequence): boolean {
  return expectedLength(sequence) - sequence.promptTokens < sequence.maxTokens;
}

/** Whether its last known token is to be computed: for the next one, or because the prompt is. */
export function needsRow(sequence: Sequence): boolean {
  return mayGrow(sequence) || sequence.computed < sequence.promptTokens;
}

/** Takes in that the prompt is computed: what is asked of it is told, and it is all where no token is to follow. */
export function acceptPrompt(sequence: Sequence): void {
  if (sequence.finished) return;
  const tokens = sequence.recorder?.takePrompt();
  if (tokens) sequence.emit({ type: 'prompt', tokens });
  if (sequence.maxTokens === 0) finish(sequence, 'length', null);
}

/** Takes in a token that came back, and says it to the client; ends the sequence where it stops. */
export function acceptToken(sequence: Sequence, id: number, logprob?: TokenLogprob): void {
  sequence.constraint?.accept(id);
  if (sequence.forced.length > 0) sequence.forced = sequence.forced.slice(1);
  sequence.ids.push(id);
  sequence.counts?.add(id);
  const generated = sequence.ids.length - sequence.promptTokens;
  const piece = sequence.pieces.of(id, logprob);
  const { pieces, matched } = sequence.stops.push(piece, generated > sequence.minTokens);
  if (matched !== null) {
    end(sequence, () => pieces, 'stop', matched);
  } else if (sequence.stopIds.has(id)) {
    const own = sequence.keepStop ? '' : sequence.pieces.ownText(id);
    // Behind a token without text, what is half a character is of those before.
    const rest = own === '' ? [restOf(sequence)] : [];
    const last = withoutTail([...pieces, ...sequence.stops.flush(), ...rest], own.length);
    end(sequence, () => last, 'stop', id);
  } else {
    tell(sequence, pieces);
    if (sequence.output.ended) finish(sequence, 'stop', null);
    else if (generated >= sequence.maxTokens) finish(sequence, 'length', null);
  }
}

/** Of a character that will not become whole. */
function restOf({ pieces }: Sequence): Piece {
  return { id: null, text: pieces.rest(), special: false };
}

/** The same tokens, without so much of the text at their end. */
function withoutTail(pieces: readonly Piece[], length: number): Piece[] {
  const { before, after } = splitPieces(pieces, textOf(pieces).length - length);
  return [...before, ...after.filter(({ id }) => id !== null).map((piece) => ({ ...piece, text: '' }))];
}

/** Ends it because of what was thrown. */
export function fail(sequence: Sequence, cause: unknown): void {
  finish(sequence, 'abort', null, asEngineError(cause));
}

export function asEngineError(cause: unknown): EngineError {
  if (cause instanceof EngineError) return cause;
  return new EngineError('internal', cause instanceof Error ? cause.message : String(cause), { cause });
}

/** Ends it where it is: what was held back is told. `error`: with `abort`, why, where the fault is not the caller's. */
export function finish(
  sequence: Sequence,
  reason: FinishReason,
  matchedStop: string | number | null,
  error?: EngineError,
): void {
  if (sequence.finished) return;
  const last = () => [...sequence.stops.push(restOf(sequence), false).pieces, ...sequence.stops.flush()];
  end(sequence, last, reason, matchedStop, error);
}

/** Whatever telling its last pieces throws, it ends, and once. */
function end(
  sequence: Sequence,
  last: () => readonly Piece[],
  reason: FinishReason,
  matchedStop: string | number | null,
  error?: EngineError,
): void {
  const { output } = sequence;
  const completionTokens = sequence.ids.length - sequence.promptTokens;
  let failure = error;
  sequence.finished = true;
  try {
    tell(sequence, last());
    output.flush().forEach((part) => tellPart(sequence, part));
    emitHeld(sequence);
  } catch (cause) {
    failure ??= asEngineError(cause);
  }
  const called = !failure && reason === 'stop' && output.callsAreWhole;
  sequence.emit({
    type: 'done',
    choice: sequence.choice,
    finishReason: failure ? 'abort' : called ? 'tool_calls' : reason,
    matchedStop: failure || called ? null : matchedStop,
    completionTokens,
    ...(output.reasoningTokens === null ? {} : { reasoningTokens: output.reasoningTokens }),
    ...(failure && { error: toldOf(failure) }),
    ...sequence.recorder?.told(sequence.promptTokens, completionTokens),
  });
}

/** An error as the plain value that events carry. */
function toldOf({
  code,
  message,
  param,
}: EngineError): NonNullable<Extract<TextEvent, { type: 'done' }>['error']> {
  return { code, message, ...(param !== null && { param }) };
}

function tell(sequence: Sequence, pieces: readonly Piece[]): void {
  for (const piece of pieces) sequence.output.push(piece).forEach((part) => tellPart(sequence, part));
  // Ids without text wait: those of a character come with its last one.
  if (sequence.held?.text !== '' || sequence.held.kind === 'toolCall') emitHeld(sequence);
}

function tellPart(sequence: Sequence, part: OutputPart): void {
  const { held } = sequence;
  if (held !== null && continues(held, part)) {
    sequence.held = {
      ...held,
      text: held.text + part.text,
      ids: [...held.ids, ...part.ids],
      logprobs: [...held.logprobs, ...part.logprobs],
    };
  } else {
    emitHeld(sequence);
    sequence.held = part;
  }
}

function continues(held: OutputPart, part: OutputPart): boolean {
  if (part.kind !== 'toolCall') return held.kind === part.kind;
  return held.kind === 'toolCall' && held.call === part.call && part.name === undefined;
}

const EVENTS = { content: 'delta', reasoning: 'reasoning' } as const;

function emitHeld(sequence: Sequence): void {
  const { choice, held } = sequence;
  sequence.held = null;
  if (held === null || (held.kind !== 'toolCall' && held.text === '' && held.ids.length === 0)) return;
  const generated = {
    choice,
    ids: held.ids,
    ...(held.logprobs.length > 0 ? { logprobs: held.logprobs } : {}),
  };
  if (held.kind !== 'toolCall') {
    sequence.emit({ type: EVENTS[held.kind], text: held.text, ...generated });
    return;
  }
  const { call, id, name, text } = held;
  const first = { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) };
  sequence.emit({ type: 'toolCall', call, ...first, arguments: text, ...generated });
}
