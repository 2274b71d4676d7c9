// A sequence is one choice of a text request, from admission to its last event. Its state has four groups: the request, the progress of its
// tokens, their placement on the device, and the text for the client. Its constraint gives a mask where several tokens are allowed, and the
// tokens themselves where only one is.

import { EngineError, internalError } from '../../../files/error.ts';
import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { Placement } from '../cache/placement.ts';
import type { Constraint } from '../calls/constraint.ts';
import { fromGrammarError } from '../calls/grammar-error.ts';
import type { Piece } from '../calls/piece.ts';
import type { Progress } from './progress.ts';
import type { Recorder } from './recorder.ts';
import { eventError, type SequenceOutput } from './sequence-output.ts';
import { bars, writeTokenMask, type MaskRules } from '../speculation/token-mask.ts';
import type { StepRequest, StepSequence } from '../step/step-part.ts';
import type { FinishReason, TextEvent, TokenLogprob } from '../calls/text-model.ts';

/** Settings that the request gives to each of its choices; constant while the sequence lives. */
export interface SequenceRequest extends StepRequest, MaskRules {
  /** Scheduling priority; a higher one runs first. */
  priority: number;
  maxTokens: number;
  /** Token ids that end the sequence. */
  stopIds: ReadonlySet<number>;
  /** Whether steps may compute drafts of its next tokens. */
  speculative: boolean;
  /** Token ids of what the reply may be; [] if the request tells nothing. */
  predicted: readonly number[];
  /** Whether other requests may be served what was computed for this one. */
  isShared: boolean;
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

export class Sequence implements StepSequence {
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
    return this.growth > 0;
  }

  /** Tokens that may be sampled beside those in flight. */
  get growth(): number {
    return this.request.maxTokens - (this.progress.expectedLength - this.progress.promptTokens);
  }

  /** Whether the last known token must be computed: to sample the next one, or because it belongs to the prompt. */
  get needsRow(): boolean {
    return this.mayGrow || !this.progress.isPromptComputed;
  }

  /** Whether its source is to be read before its tokens are computed. */
  get awaitsSource(): boolean {
    return this.progress.computed < (this.request.source?.pages ?? 0) * PAGE_TOKENS;
  }

  /** See StepSequence. */
  get isConstrained(): boolean {
    return this.constraint !== null && this.constraint.idle !== true;
  }

  /** See StepSequence. */
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

  /** See StepSequence. A sequence whose constraint throws fails. */
  writeMask(into: Uint32Array): void {
    try {
      if (!this.finished) return this.#setBits(into);
    } catch (error) {
      this.fail(error);
    }
    into.fill(0xffffffff);
  }

  #setBits(into: Uint32Array): void {
    const { constraint, progress } = this;
    const [next] = progress.forced;
    if (next !== undefined && this.#bars(next)) progress.forced = [];
    const state = { constraint, forced: progress.forced[0], generated: progress.generated };
    writeTokenMask(into, state, this.request);
  }

  /** Whether a processor excludes the token, even if the constraint allows nothing else. */
  #bars(id: number): boolean {
    return bars(id, this.constraint, this.request);
  }

  /**
   * Appends the tokens that the constraint prescribes, because no forward pass is needed to know them. If the request wants each token's
   * forward pass, the tokens are stored and applied as masks, one per pass.
   */
  acceptForced(): void {
    const { progress, recorder } = this;
    if (progress.forced.length > 0) return;
    // Generated text is reported after the log probabilities of the prompt.
    const waits = recorder !== null && (recorder.wantsStates || recorder.promptTop !== null);
    const needsPass = this.request.sampling.logprobs !== null || waits;
    for (let run = this.#mustFollow(); run.length > 0; run = this.#mustFollow()) {
      if (needsPass) {
        progress.forced = run;
        return;
      }
      for (const id of run) {
        if (this.finished || this.#bars(id)) return;
        this.acceptToken(id);
      }
    }
  }

  /**
   * Returns the tokens that must come next; [] if the model chooses. Finishes the sequence if its constraint has ended and no end token is
   * allowed.
   */
  #mustFollow(): readonly number[] {
    const { constraint, finished } = this;
    const { processor, stopIds, maxTokens } = this.request;
    if (constraint === null || finished || maxTokens === 0) return [];
    if (constraint.ended) {
      const end = [...stopIds].find((id) => !this.#bars(id));
      if (end === undefined) this.finish('stop', null);
      return end === undefined || processor !== null ? [] : [end];
    }
    // A processor on the device may change the logits in ways that are unknown here, so no token is forced.
    return processor === null ? constraint.forced() : [];
  }

  /** See StepSequence. */
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
      ...(progress.drafts.proposed > 0 && { drafts: { ...progress.drafts } }),
      ...(failure && { error: eventError(failure) }),
      ...this.recorder?.doneMembers(progress.promptTokens, completionTokens),
    });
  }
}

/** Converts any failure to an EngineError; one of an unknown class gets the code `internal`. */
export function asEngineError(failure: unknown): EngineError {
  const cause = fromGrammarError(failure);
  if (cause instanceof EngineError) return cause;
  return internalError(cause instanceof Error ? cause.message : String(cause), undefined, cause);
}
