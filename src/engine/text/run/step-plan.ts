// The rows of one step: every decoding sequence gets one row, and what room is left goes to prefill chunks, in the order of `running`.

import { TILE_ROWS } from '../../../kernels/batch.ts';
import { pagesFor } from '../kv/pages.ts';
import type { DraftRow } from '../speculation/draft-rows.ts';
import type { Expansion, Phase, StepPart } from '../step/step-part.ts';
import type { Sequence } from './sequence.ts';

/** A part of the next step. */
export interface PlannedPart extends StepPart {
  readonly sequence: Sequence;
  /** Prompt tokens that are computed or cached by now; null: no more than before. */
  readonly processed: number | null;
  readonly draft?: PlannedDraft;
}

export interface PlannedDraft {
  readonly ids: readonly number[];
  readonly rows: readonly DraftRow[];
}

/** The parts of the scheduler that planning needs. */
export interface PlanSource {
  /** Running sequences, highest priority first, then in order of admission. */
  readonly running: readonly Sequence[];
  /** Makes sure that a sequence has pages for `length` tokens, by retracting sequences that are not in `planned`; false: it cannot. */
  secure(sequence: Sequence, length: number, planned: ReadonlySet<Sequence>): boolean;
  /**
   * Number of the sequence's next `rows` rows that a step may compute; 0: it waits, for rows of a medium or, if it may (`mayWait`), for a step with
   * more room.
   */
  chunk(sequence: Sequence, rows: number, mayWait: boolean): number;
}

export interface StepLimits {
  /** Limit on the rows of a step. */
  rows: number;
  /** Limit on the rows of a step of the phase `decode`, where phases are apart; null or left out: a step may have both. */
  decodeRows?: number | null;
  /** Which prompts see keys and values that are expanded from latents, where phases are apart; null or left out: none does. */
  expansion?: Expansion | null;
}

/** Plans the next step. Phases that are apart take turns: `last` is the phase of the step before. */
export function planStep(
  source: PlanSource,
  { rows, decodeRows = null, expansion = null }: StepLimits,
  last: Phase | null,
): PlannedPart[] {
  if (decodeRows === null) return allParts(new StepPlan(source, rows));
  for (const { progress } of source.running)
    progress.expandedEnd ??=
      expansion?.endOf({ cached: progress.computed, length: progress.promptTokens }) ?? 0;
  const decode = (): PlannedPart[] => allParts(new StepPlan(source, decodeRows, 'decode'));
  const prompt = (): PlannedPart[] => allParts(new StepPlan(source, rows, 'prompt', expansion?.pages));
  const [first, second] = last === 'decode' ? [prompt, decode] : [decode, prompt];
  const parts = first();
  return parts.length > 0 ? parts : second();
}

/** Rows that running sequences have to compute; Infinity where a step needs room: for more of them than a tile has rows, or for tokens of a medium that see each other. */
export function rowsWanted(running: readonly Sequence[]): number {
  if (running.length > TILE_ROWS || running.some(({ request }) => request.media)) return Infinity;
  return running.reduce((sum, { progress }) => sum + progress.remaining, 0);
}

function allParts(plan: StepPlan): PlannedPart[] {
  plan.addDecodes();
  plan.addChunks();
  return plan.parts;
}

export class StepPlan {
  readonly parts: PlannedPart[] = [];
  readonly #source: PlanSource;
  readonly #planned = new Set<Sequence>();
  readonly #rows: number;
  readonly #phase: Phase | null;
  readonly #mostPages: number;
  #room: number;
  /** Whether rows see expanded keys and values, which the first part decides; and pages of the parts that do. */
  #isExpanded: boolean | null = null;
  #pages = 0;

  /** `rows`: the most rows of the step. `phase`: the phase of all its rows; null: it may have both. `pages`: see Expansion. */
  constructor(source: PlanSource, rows: number, phase: Phase | null = null, pages = 0) {
    this.#source = source;
    this.#rows = rows;
    this.#phase = phase;
    this.#room = rows;
    this.#mostPages = pages;
  }

  /** Adds the sequences that compute one token only. */
  addDecodes(): void {
    for (const sequence of [...this.#source.running])
      if (sequence.progress.remaining === 1 && sequence.needsRow && this.#isReady(sequence))
        this.#add(sequence, this.#source.chunk(sequence, 1, false));
  }

  /** Adds the sequences that have more tokens to compute: prompts, and runs of tokens that a constraint prescribed. */
  addChunks(): void {
    const others = this.#source.running.filter(
      (sequence) => sequence.progress.remaining > 1 && this.#remaining(sequence) > 0,
    );
    const prompts = others.filter(isPrefill);
    // A prescribed run uses only rows of a tile that is computed anyway; without the prescription it would take one row per step.
    const used = this.#rows - this.#room + others.length;
    let spare = prompts.length > 0 ? this.#room : -used & (TILE_ROWS - 1);
    for (const sequence of others) {
      if (!this.#isReady(sequence)) continue;
      const most = prompts.includes(sequence) ? this.#room : Math.min(this.#room, 1 + spare);
      // The first part of a step takes what room there is, so that prompts go on in any case.
      const mayWait = this.#phase === 'prompt' && this.parts.length > 0;
      const rows = this.#source.chunk(sequence, Math.min(most, this.#remaining(sequence)), mayWait);
      spare = Math.max(0, spare - Math.max(0, rows - 1));
      this.#add(sequence, rows);
    }
  }

  #isReady(sequence: Sequence): boolean {
    return (
      this.#room > 0 &&
      this.#remaining(sequence) > 0 &&
      (this.#isExpanded ?? this.#expands(sequence)) === this.#expands(sequence) &&
      !sequence.placement.isLoading &&
      !sequence.awaitsSource &&
      this.#source.running.includes(sequence)
    );
  }

  /** Rows of the step's phase that a sequence has to compute next. */
  #remaining(sequence: Sequence): number {
    const { progress } = sequence;
    const { remaining, computed, promptTokens } = progress;
    if (this.#phase === null) return remaining;
    if (this.#phase === 'decode') return computed < promptTokens ? 0 : remaining;
    const end = this.#expands(sequence) ? progress.expandedEnd! : promptTokens;
    return Math.min(remaining, Math.max(0, end - computed));
  }

  #expands({ progress }: Sequence): boolean {
    return this.#phase === 'prompt' && progress.computed < (progress.expandedEnd ?? 0);
  }

  #add(sequence: Sequence, rows: number): void {
    if (rows === 0) return;
    const { progress } = sequence;
    const first = progress.computed;
    const expands = this.#expands(sequence);
    const pages = expands ? pagesFor(first + rows) : 0;
    if (this.#pages + pages > this.#mostPages) return;
    if (!this.#source.secure(sequence, first + rows, this.#planned)) return;
    const samples = first + rows === progress.expectedLength && sequence.mayGrow;
    this.#isExpanded = expands;
    this.#pages += pages;
    this.#planned.add(sequence);
    this.#room -= rows;
    progress.computed += rows;
    this.parts.push({ sequence, first, rows, samples, processed: progress.advance() });
    if (samples) progress.inFlight++;
  }
}

/** Returns true if a sequence computes a prompt, or enough tokens to be treated like one. */
function isPrefill({ progress }: Sequence): boolean {
  return !progress.isPromptComputed || progress.remaining > TILE_ROWS;
}

/** Whether a part computes the last token of the prompt. */
export function endsPrompt({ sequence, first, rows }: StepPart): boolean {
  const { promptTokens } = sequence.progress;
  return first < promptTokens && first + rows >= promptTokens;
}
