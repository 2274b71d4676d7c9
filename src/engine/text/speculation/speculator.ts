// Decides which tokens steps draft: as many as are expected to pay, by the chances that the drafter gives them and by what steps of so
// many rows have taken.

import type { StepCosts } from './step-costs.ts';
import type { RunnerDrafts } from '../step/runner-drafts.ts';
import type { Drafter, DraftSource, Proposal, ToldPart } from './drafter.ts';

/** What the decision depends on. */
export interface SpeculatedSequence extends DraftSource {
  readonly progress: DraftSource['progress'] & {
    readonly isPromptComputed: boolean;
    readonly drafted: number;
    readonly forced: readonly number[];
  };
  readonly finished: boolean;
  readonly mayGrow: boolean;
  readonly placement: { readonly isLoading: boolean };
}

export interface SpeculationCounters {
  /** Drafts that the device has computed. */
  drafts: number;
  /** Tokens of these drafts, and how many of them were right. */
  proposed: number;
  accepted: number;
}

export interface SpeculatorOptions {
  drafter: Drafter;
  costs: StepCosts;
  /** Limit on the tokens of a draft. */
  most: number;
  /** false: every draft is computed whole, whether it pays or not. */
  adaptive: boolean;
  /** Limit on the rows of a step with drafts. */
  rows: number;
}

/** Gain in tokens per time from which on a step drafts: a smaller one may be an error of measuring. */
const LEAST_GAIN = 1.05;
/** Steps with drafts after which one without is measured, if the gain is small. */
const PROBE = 48;
const CLEAR_GAIN = 1.5;

/** Drafts of one step, by sequence. */
export type ChosenDrafts = ReadonlyMap<object, readonly number[]>;

const NONE: ChosenDrafts = new Map();

interface Candidate {
  sequence: SpeculatedSequence;
  proposal: Proposal;
}

export class Speculator {
  readonly counters: SpeculationCounters = { drafts: 0, proposed: 0, accepted: 0 };
  readonly #options: SpeculatorOptions;
  /** Steps with drafts since the last one without. */
  #inRow = 0;

  constructor(options: SpeculatorOptions) {
    this.#options = options;
  }

  get costs(): StepCosts {
    return this.#options.costs;
  }

  /**
   * Tells the drafter what the last step computed, before the next one is planned; null: it need not know. `running`: all sequences.
   */
  prepare(
    told: readonly ToldPart[],
    drafts: RunnerDrafts | null,
    running: readonly SpeculatedSequence[],
  ): Promise<void> | null {
    const { drafter, most } = this.#options;
    if (!drafts || !drafter.prepare) return null;
    return drafter.prepare(told, drafts, decodingOf(running) === null ? 0 : most);
  }

  /** Whether the next step waits for the tokens that the device is computing: they belong to drafts, or drafts after them pay. */
  waits(running: readonly SpeculatedSequence[]): boolean {
    if (this.#options.drafter.isSequential) return true;
    if (running.some(({ progress }) => progress.drafted > 0)) return true;
    const decoding = decodingOf(running);
    if (decoding === null || decoding.every(({ progress }) => progress.inFlight === 0)) return false;
    const candidates = this.#candidates(decoding, (proposal, { progress }) =>
      progress.inFlight > 0 ? afterFirst(proposal) : proposal,
    );
    return this.#counts(candidates, decoding.length).some((count) => count > 0);
  }

  /** Tokens that the next step drafts, for sequences whose tokens are all known. */
  choose(running: readonly SpeculatedSequence[]): ChosenDrafts {
    const decoding = decodingOf(running);
    if (decoding === null) return NONE;
    const known = decoding.filter(({ progress }) => progress.inFlight === 0);
    const candidates = this.#candidates(known, (proposal) => proposal);
    const counts = this.#counts(candidates, decoding.length);
    const chosen = new Map<object, readonly number[]>();
    candidates.forEach(({ sequence, proposal }, i) => {
      if (counts[i]! > 0) chosen.set(sequence, proposal.ids.slice(0, counts[i]));
    });
    this.#inRow = chosen.size > 0 ? this.#inRow + 1 : 0;
    return chosen;
  }

  verified(sequence: SpeculatedSequence, proposed: number, accepted: number): void {
    this.counters.drafts++;
    this.counters.proposed += proposed;
    this.counters.accepted += accepted;
    this.#options.drafter.verified?.(sequence, proposed, accepted);
  }

  /** Called when a sequence has ended. */
  ended(sequence: SpeculatedSequence): void {
    this.#options.drafter.ended?.(sequence);
  }

  #candidates(
    sequences: readonly SpeculatedSequence[],
    use: (proposal: Proposal, sequence: SpeculatedSequence) => Proposal,
  ): Candidate[] {
    const { drafter, most } = this.#options;
    return sequences.flatMap((sequence) => {
      const { forced } = sequence.progress;
      if (!sequence.request.speculative) return [];
      const proposal = forced.length > 1 ? certain(forced, most) : drafter.propose(sequence, most);
      const used = proposal && use(proposal, sequence);
      return used && used.ids.length > 0 ? [{ sequence, proposal: used }] : [];
    });
  }

  /** Number of tokens to draft of each candidate, in a step that has `rows` rows anyway. */
  #counts(candidates: readonly Candidate[], rows: number): number[] {
    const { adaptive, costs, rows: mostRows } = this.#options;
    const room = Math.max(0, mostRows - rows);
    const counts = candidates.map(() => 0);
    if (!adaptive) return shareOut(candidates, room);
    if (candidates.length === 0) return counts;
    // The likeliest tokens first. Chances of one candidate never increase, so that its tokens come in order.
    const ranked = candidates
      .flatMap(({ proposal }, at) => reached(proposal).map((chance) => ({ at, chance })))
      .toSorted((a, b) => b.chance - a.chance);
    const plain = rows / costs.of(rows, false);
    let [expected, best, bestCount] = [rows, 0, 0];
    ranked.slice(0, room).forEach(({ chance }, i) => {
      expected += chance;
      const speed = expected / costs.of(rows + i + 1, true);
      if (speed > best) [best, bestCount] = [speed, i + 1];
    });
    const gain = best / plain;
    const isProbed = this.#inRow >= PROBE && gain < CLEAR_GAIN;
    if (gain < LEAST_GAIN || isProbed) return counts;
    for (const { at } of ranked.slice(0, bestCount)) counts[at]!++;
    return counts;
  }
}

/** The sequences that decode; null if drafts would delay others: prompts are to be computed, or pages to be loaded. */
function decodingOf(running: readonly SpeculatedSequence[]): SpeculatedSequence[] | null {
  if (running.some(({ progress, placement }) => !progress.isPromptComputed || placement.isLoading))
    return null;
  return running.filter(({ finished, mayGrow }) => !finished && mayGrow);
}

/** Tokens that a constraint prescribes. The last of them is sampled after the draft. */
function certain(forced: readonly number[], most: number): Proposal {
  const ids = forced.slice(0, Math.min(most, forced.length - 1));
  return { ids, chances: ids.map(() => 1) };
}

/** What a proposal still proposes when its first token is the one that the device is computing. */
function afterFirst({ ids, chances }: Proposal): Proposal {
  const [first, ...rest] = chances;
  return { ids: ids.slice(1), chances: rest.map((chance, i) => (i === 0 ? chance * first! : chance)) };
}

/** Chance that each token of a proposal is right and those before it are. */
function reached({ chances }: Proposal): number[] {
  let chance = 1;
  return chances.map((each) => (chance *= each));
}

function shareOut(candidates: readonly Candidate[], room: number): number[] {
  let left = room;
  return candidates.map(({ proposal }) => {
    const count = Math.min(left, proposal.ids.length);
    left -= count;
    return count;
  });
}
