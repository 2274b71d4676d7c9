// Drafts in a planned step: they take rows and pages that are left, behind the rows that a sequence computes anyway. The fixed states of
// their sequences are copied before the step, and taken back where a draft was wrong.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { SequencePages } from '../cache/sequence-pages.ts';
import type { StateMove } from '../kv/state-mover.ts';
import { draftRows } from '../speculation/draft-rows.ts';
import type { ChosenDrafts } from '../speculation/speculator.ts';
import { sampledRows } from '../step/step-part.ts';
import type { Sequence } from './sequence.ts';
import type { PlannedDraft, PlannedPart, StepLimits } from './step-plan.ts';

export interface DraftLimits extends StepLimits {
  /** Copies of fixed states of the prefix cache; those of drafts follow them. Left out: no layer has such a state. */
  copies?: number;
  /** Limit on the rows that a step samples; left out: as many as it has. */
  sampledRows?: number;
  /** Limit on the (token, count) pairs that the rows of drafts read; left out: any number. */
  draftCounts?: number;
}

export class DraftPlan {
  readonly #pages: SequencePages;
  readonly #limits: DraftLimits;
  /** Fixed states to take back, before all other moves: a new sequence may have the slot meanwhile. */
  #restores: StateMove[] = [];
  /** Copies of fixed states that must precede the planned step. */
  #backups: StateMove[] = [];

  constructor(pages: SequencePages, limits: DraftLimits) {
    this.#pages = pages;
    this.#limits = limits;
  }

  /** Adds drafts to the parts of a step of decode rows, as far as there is room. `running`: number of running sequences. */
  add(parts: readonly PlannedPart[], chosen: ChosenDrafts, running: number): PlannedPart[] {
    const {
      rows,
      decodeRows = null,
      sampledRows: mostSampled = Infinity,
      draftCounts = Infinity,
    } = this.#limits;
    let room = (decodeRows ?? rows) - parts.reduce((sum, part) => sum + part.rows, 0);
    let sampledRoom = mostSampled - parts.reduce((sum, part) => sum + sampledRows(part).length, 0);
    let counts = draftCounts;
    return parts.map((part) => {
      const { sequence, first, rows: own, samples } = part;
      const ids = chosen.get(sequence);
      // The token that this part samples is the only one that is not known.
      if (!ids || !samples || sequence.progress.inFlight !== 1) return part;
      const most = Math.min(room, sampledRoom, sequence.growth, ids.length);
      const fitting = this.#fitting(sequence, first + own, fewCounted(sequence, most, counts), running);
      const draft = draftOf(sequence, ids.slice(0, fitting));
      if (draft === null) return part;
      const drafted = draft.ids.length;
      room -= drafted;
      sampledRoom -= drafted;
      counts -= countedPairs(sequence, drafted);
      sequence.progress.drafted = drafted;
      this.#backUp(sequence);
      return { ...part, rows: own + drafted, draft };
    });
  }

  /**
   * Counts the first `right` tokens of a part's draft as computed. Fixed states that have passed wrong tokens are those before the part
   * again, whose rows are computed once more.
   */
  settle({ sequence, first, draft }: PlannedPart, right: number): void {
    const { progress, placement } = sequence;
    if (progress.drafted === 0) return; // the sequence has lost its place meanwhile
    progress.drafted = 0;
    if (!this.#pages.states || right === draft!.ids.length) progress.computed += right;
    else {
      const slot = placement.slot!;
      progress.computed = first;
      this.#restores.push({ from: { copy: this.#backupOf(slot) }, to: { slot } });
    }
  }

  /** Returns the moves of fixed states around the given ones, and removes them. */
  takeMoves(others: readonly StateMove[]): StateMove[] {
    const moves = [...this.#restores, ...others, ...this.#backups];
    this.forget();
    return moves;
  }

  /** Drops the moves, after the device and its memory were lost. */
  forget(): void {
    this.#restores = [];
    this.#backups = [];
  }

  /** Number of a draft's tokens, up to `most`, that a sequence has room for behind its `known` tokens, without retracting another. */
  #fitting(sequence: Sequence, known: number, most: number, running: number): number {
    const { placement } = sequence;
    // A sequence with fixed states drafts up to the end of a page, where its states may be copied.
    const wanted = known + (this.#pages.states ? Math.min(most, -known & (PAGE_TOKENS - 1)) : most);
    while (placement.room < wanted) {
      // A page is left for each of the others.
      if (this.#pages.available < placement.tables.length * (running + 1)) break;
      if (!this.#pages.grow(sequence)) break;
    }
    return Math.max(0, Math.min(wanted, placement.room) - known);
  }

  #backUp({ placement }: Sequence): void {
    if (!this.#pages.states) return;
    const slot = placement.slot!;
    this.#backups.push({ from: { slot }, to: { copy: this.#backupOf(slot) } });
  }

  #backupOf(slot: number): number {
    return this.#limits.copies! + slot;
  }
}

function draftOf(sequence: Sequence, ids: readonly number[]): PlannedDraft | null {
  const rows = ids.length > 0 ? draftRows(sequence, ids) : null;
  return rows && { ids, rows };
}

/** Pairs of tokens and counts that the rows of a draft read. */
function countedPairs({ progress: { counts } }: Sequence, drafted: number): number {
  return counts === null ? 0 : drafted * (counts.size + drafted);
}

function fewCounted(sequence: Sequence, most: number, room: number): number {
  let few = Math.max(0, most);
  while (few > 0 && countedPairs(sequence, few) > room) few--;
  return few;
}
