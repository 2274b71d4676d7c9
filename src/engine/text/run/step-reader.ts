// Reads the tokens of submitted steps and appends them to their sequences.

import { NO_TOKEN_ALLOWED, NOT_A_TOKEN } from '../../../kernels/sample.ts';
import type { ToldPart } from '../speculation/drafter.ts';
import type { Speculator } from '../speculation/speculator.ts';
import type { Launched, SampledTokens } from '../step/launch.ts';
import { phaseOf, sampledRows } from '../step/step-part.ts';
import type { Runner } from '../step/text-runner.ts';
import { readLogprob } from './logprobs.ts';
import { noTokenAllowed, notANumber } from './sampling-errors.ts';
import type { Scheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import { endsPrompt, type PlannedDraft, type PlannedPart } from './step-plan.ts';

export interface LoopCounters {
  steps: number;
  /** Number of steps with more than one sequence. */
  sharedSteps: number;
  promptTokens: number;
  generatedTokens: number;
  deviceRestarts: number;
}

/** A step that was submitted to the device, until its tokens are read. */
export interface SubmittedStep {
  parts: PlannedPart[];
  launched: Launched;
  sampled: Promise<SampledTokens> | null;
  /** Parts whose next token has been prescribed by the constraint after the launch: the sampled token is dropped. */
  superseded: Set<PlannedPart>;
  /** When the step was planned, in milliseconds. */
  planned: number;
}

/** The results of a step, and the first row of a part among those that were sampled. */
interface SampledPart extends SampledTokens {
  row: number;
}

export interface ReaderParts {
  scheduler: Scheduler;
  counters: LoopCounters;
  speculator: Speculator | null;
  runner(): Pick<Runner, 'pageCleaner'>;
}

export class StepReader {
  readonly #parts: ReaderParts;
  readonly #scheduler: Scheduler;
  readonly #counters: LoopCounters;
  readonly #speculator: Speculator | null;
  /** When the tokens of the last step were read, in milliseconds. */
  #lastRead = 0;
  /** Rows of the last step that was read, whose sequences go on. */
  #told: ToldPart[] = [];

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#scheduler = parts.scheduler;
    this.#counters = parts.counters;
    this.#speculator = parts.speculator;
  }

  /** Waits for a step's tokens and appends them. `next`: the step that was submitted after it and has not sampled yet. */
  async read(step: SubmittedStep, next: SubmittedStep | null = null): Promise<void> {
    const { ids, logprobs } = await step.sampled!;
    for (const part of step.parts)
      if (endsPrompt(part)) attempt(part.sequence, () => part.sequence.acceptPrompt());
    let row = 0;
    const right = step.parts.map((part) => {
      const sampled = { ids, logprobs, row };
      row += sampledRows(part).length;
      if (!part.samples || step.superseded.has(part)) return 0;
      if (part.draft) return this.#appendDraft(part, part.draft, sampled);
      this.#append(part.sequence, sampled, next);
      return 0;
    });
    this.#told = toldParts(step.parts, right);
    this.#noteCosts(step);
    for (const { sequence } of step.parts) if (sequence.finished) this.#speculator?.ended(sequence);
    this.#scheduler.sweep();
  }

  /** Returns the rows of the last step that was read, and forgets them. */
  takeTold(): ToldPart[] {
    return this.#told.splice(0).filter(({ sequence }) => !(sequence as Sequence).finished);
  }

  /** Tells the speculator how long a step of decode rows alone took, since it was planned or since the one before it was read. */
  #noteCosts({ parts, planned }: SubmittedStep): void {
    const read = performance.now();
    const since = Math.max(planned, this.#lastRead);
    this.#lastRead = read;
    if (this.#speculator === null || parts.some((part) => phaseOf(part) === 'prompt')) return;
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const isDrafted = parts.some(({ draft }) => draft);
    this.#speculator.costs.note(rows, isDrafted, read - since);
  }

  /**
   * Appends the tokens that were sampled in a part with a draft, as far as the draft is what the sequence goes on with, and one more.
   * A token that a constraint has prescribed meanwhile is not sampled. Returns how many tokens of the draft were right.
   */
  #appendDraft(part: PlannedPart, draft: PlannedDraft, { ids, logprobs, row }: SampledPart): number {
    const { sequence } = part;
    const { progress } = sequence;
    progress.inFlight--;
    if (progress.finished) return 0;
    const first = progress.ids.length;
    let right = 0;
    for (let nth = 0; nth <= draft.ids.length && !progress.finished; nth++) {
      if (nth > 0) {
        if (progress.ids[first + nth - 1] !== draft.ids[nth - 1]) break;
        right = nth;
        progress.drafts.accepted++;
      }
      if (progress.ids.length > first + nth) continue;
      if (nth > 0 && !draft.rows[nth - 1]!.isRightFor(sequence)) {
        right = nth - 1; // the last token's row is computed again, to be sampled anew
        break;
      }
      attempt(sequence, () => this.#accept(sequence, ids[row + nth]!, logprobs, row + nth));
    }
    this.#counters.generatedTokens += progress.ids.length - first;
    this.#scheduler.drafts.settle(part, right);
    this.#speculator!.verified(sequence, draft.ids.length, right);
    return right;
  }

  #append(sequence: Sequence, { ids, logprobs, row }: SampledPart, next: SubmittedStep | null): void {
    const { progress } = sequence;
    progress.inFlight--;
    if (progress.finished) return;
    const count = progress.ids.length;
    attempt(sequence, () => this.#accept(sequence, ids[row]!, logprobs, row));
    this.#counters.generatedTokens += progress.ids.length - count;
    if (progress.ids.length > count + 1 && next !== null) supersede(next, sequence);
  }

  #accept(sequence: Sequence, id: number, logprobs: Uint32Array, row: number): void {
    if (id === NOT_A_TOKEN) {
      sequence.finish('abort', null, notANumber(sequence));
      this.#parts.runner().pageCleaner.clear(this.#scheduler.discard(sequence));
      return;
    }
    if (id === NO_TOKEN_ALLOWED) throw noTokenAllowed(sequence);
    sequence.acceptToken(id, readLogprob(sequence, id, logprobs, row));
    sequence.acceptForced();
  }
}

/** The rows of a step that computed what sequences go on with. `right`: tokens of each part's draft that were right. */
function toldParts(parts: readonly PlannedPart[], right: readonly number[]): ToldPart[] {
  let row = 0;
  return parts.map(({ sequence, first, rows, draft }, i) => {
    const told = { sequence, row, first, rows: draft ? rows - draft.ids.length + right[i]! : rows };
    row += rows;
    return told;
  });
}

/** Drops the token that a step is about to sample for a sequence, because the constraint has prescribed it meanwhile. */
function supersede({ parts, superseded }: SubmittedStep, sequence: Sequence): void {
  const part = parts.find((one) => one.samples && one.sequence === sequence);
  if (part === undefined) return;
  superseded.add(part);
  sequence.progress.inFlight--;
}

/** Runs `take`; an error ends only the given sequence. */
function attempt(sequence: Sequence, take: () => void): void {
  try {
    take();
  } catch (error) {
    sequence.fail(error);
  }
}
