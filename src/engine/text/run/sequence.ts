// A sequence is one choice of a text request, from admission to its last event. Its state has four groups: the request, the progress of its
// tokens, their placement on the device, and the text for the client.

import { EngineError } from '../../../files/error.ts';
import type { Adapter } from '../lora/adapters.ts';
import type { Placement } from '../cache/placement.ts';
import type { Constraint } from '../calls/constraint.ts';
import { fromGrammarError } from '../calls/grammar-error.ts';
import type { PromptMedia } from '../media/prompt-media.ts';
import type { Piece } from '../calls/piece.ts';
import type { Progress } from './progress.ts';
import type { Recorder } from './recorder.ts';
import { eventError, type SequenceOutput } from './sequence-output.ts';
import type { FinishReason, SamplingOptions, TextEvent, TokenLogprob } from '../calls/text-model.ts';

export interface SequenceSampling extends Required<SamplingOptions> {
  seedLow: number;
  seedHigh: number;
  frequencyPenalty: number;
  presencePenalty: number;
  bias: readonly TokenBias[];
  /** The biases while fewer than `minTokens` tokens are generated: end tokens are masked. */
  biasBelowMin: readonly TokenBias[];
  /** Number of alternatives reported with each token; null: no log probabilities. */
  logprobs: number | null;
}

export type TokenBias = readonly [token: number, value: number];

/** Settings that the request gives to each of its choices; constant while the sequence lives. */
export interface SequenceRequest {
  /** Scheduling priority; a higher one runs first. */
  priority: number;
  maxTokens: number;
  /** Generated tokens before which only the length limit ends the sequence. */
  minTokens: number;
  sampling: SequenceSampling;
  /** Token ids that end the sequence. */
  stopIds: ReadonlySet<number>;
  /** Bits of the tokens that the request allows at any position, one word per 32 tokens; null: all. */
  allowed: Uint32Array | null;
  /** WGSL source of the request's own function on logits; null: none. */
  processor: string | null;
  /** LoRA adapter; null: the base model. */
  adapter: Adapter | null;
  /** Media of the prompt; left out: it has none. */
  media?: PromptMedia;
}

export interface SequenceParts {
  choice: number;
  leader: Sequence | null;
  request: SequenceRequest;
  progress: Progress;
  placement: Placement;
  output: SequenceOutput;
  constraint: Constraint | null;
  recorder: Recorder | null;
}

export class Sequence {
  readonly choice: number;
  /** The request's first choice, whose prompt this one shares; null: this is the first. */
  readonly leader: Sequence | null;
  readonly request: SequenceRequest;
  readonly progress: Progress;
  readonly placement: Placement;
  readonly output: SequenceOutput;
  /** Restricts the next tokens; null: any token may follow. */
  constraint: Constraint | null;
  /** Collects hidden states, routes and prompt log probabilities; null: the request asks for none. */
  readonly recorder: Recorder | null;

  constructor(parts: SequenceParts) {
    this.choice = parts.choice;
    this.leader = parts.leader;
    this.request = parts.request;
    this.progress = parts.progress;
    this.placement = parts.placement;
    this.output = parts.output;
    this.constraint = parts.constraint;
    this.recorder = parts.recorder;
  }

  get finished(): boolean {
    return this.progress.finished;
  }

  /** Whether one more token may be sampled, with those in flight counted. */
  get mayGrow(): boolean {
    return this.progress.expectedLength - this.progress.promptTokens < this.request.maxTokens;
  }

  /** Whether the last known token must be computed: to sample the next one, or because it belongs to the prompt. */
  get needsRow(): boolean {
    return this.mayGrow || !this.progress.isPromptComputed;
  }

  /** Whether a constraint restricts the next token, which therefore depends on all tokens before it. */
  get isConstrained(): boolean {
    return this.constraint !== null && this.constraint.idle !== true;
  }

  /** Whether the device needs a mask to sample the next token. */
  get needsMask(): boolean {
    return this.isConstrained || this.request.allowed !== null;
  }

  emit(event: TextEvent): void {
    this.output.emit(event);
  }

  /** Called when the prompt is computed: emits its log probabilities, and ends the sequence if it generates no tokens. */
  acceptPrompt(): void {
    if (this.finished) return;
    const tokens = this.recorder?.takePrompt();
    if (tokens) this.emit({ type: 'prompt', tokens });
    if (this.request.maxTokens === 0) this.finish('length', null);
  }

  /** Appends a token, emits its text, and ends the sequence if the token ends it. */
  acceptToken(id: number, logprob?: TokenLogprob): void {
    const { progress, request, output } = this;
    this.constraint?.accept(id);
    progress.add(id);
    const { pieces, matched } = output.read(id, logprob, progress.generated > request.minTokens);
    if (matched !== null) {
      this.#end(() => pieces, 'stop', matched);
    } else if (request.stopIds.has(id)) {
      const last = output.lastAtToken(id, pieces);
      this.#end(() => last, 'stop', id);
    } else {
      output.emitPieces(pieces);
      if (output.parser.ended) this.finish('stop', null);
      else if (progress.generated >= request.maxTokens) this.finish('length', null);
    }
  }

  /** Ends the sequence because of an error. */
  fail(cause: unknown): void {
    this.finish('abort', null, asEngineError(cause));
  }

  /**
   * Ends the sequence at its current length and emits what was withheld. `error`: the cause of an abort that the caller did not
   * request.
   */
  finish(reason: FinishReason, matchedStop: string | number | null, error?: EngineError): void {
    if (!this.finished) this.#end(() => this.output.lastPieces(), reason, matchedStop, error);
  }

  /** Ends the sequence exactly once, even if emitting its last events throws. */
  #end(
    last: () => readonly Piece[],
    reason: FinishReason,
    matchedStop: string | number | null,
    error?: EngineError,
  ): void {
    const { output, progress } = this;
    const completionTokens = progress.generated;
    let failure = error;
    progress.finished = true;
    try {
      output.finish(last());
    } catch (cause) {
      failure ??= asEngineError(cause);
    }
    const { callsAreWhole, reasoningTokens } = output.parser;
    const called = !failure && reason === 'stop' && callsAreWhole;
    this.emit({
      type: 'done',
      choice: this.choice,
      finishReason: failure ? 'abort' : called ? 'tool_calls' : reason,
      matchedStop: failure || called ? null : matchedStop,
      completionTokens,
      ...(reasoningTokens === null ? {} : { reasoningTokens }),
      ...(failure && { error: eventError(failure) }),
      ...this.recorder?.doneMembers(progress.promptTokens, completionTokens),
    });
  }
}

/** Converts any failure to an EngineError; one of an unknown class gets the code `internal`. */
export function asEngineError(failure: unknown): EngineError {
  const cause = fromGrammarError(failure);
  if (cause instanceof EngineError) return cause;
  return new EngineError('internal', cause instanceof Error ? cause.message : String(cause), { cause });
}
