// Decides which sequences run and which rows the next step computes. Sequences are admitted from a waiting queue into slots, by
// priority and arrival. Pages are allocated as sequences grow; when neither free nor evictable pages are left, the sequence that is
// last in order is retracted: it releases its pages, waits again, and resumes from what the prefix cache still has.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import { chooseNext, enqueue, type Candidate } from './admission.ts';
import { pagesFor, windowPages } from '../kv/pages.ts';
import type { PageMoves } from '../kv/page-mover.ts';
import { SequencePages } from '../cache/sequence-pages.ts';
import type { Medium } from '../towers/medium.ts';
import type { Sequence } from './sequence.ts';
import { DraftPlan, type DraftLimits } from './draft-plan.ts';
import { SourcePlan, type SourceLimits } from './source-plan.ts';
import { planStep, rowsWanted, type PlannedPart, type StepLimits } from './step-plan.ts';
import type { ChosenDrafts } from '../speculation/speculator.ts';
import { phaseOf, type Phase } from '../step/step-part.ts';
import type { CachedTokens } from '../calls/text-model.ts';

export interface SchedulerLimits extends DraftLimits, SourceLimits, Pick<StepLimits, 'expansion'> {
  pages: number;
  /** Limit on the sequences that run at once. */
  slots: number;
  /** Number of tokens that a query sees, by group of layers, or null for all; left out: one group that sees all tokens. */
  windows?: readonly (number | null)[];
}

export interface SchedulerOptions {
  /** Pages that are written to the device in one step while others decode; four times as many while none does. */
  loads?: number;
}

/** A waiting sequence preempts a running one if its priority is higher by at least this much. */
const PREEMPTION = 10;

export class Scheduler {
  readonly pages: SequencePages;
  readonly drafts: DraftPlan;
  readonly sources: SourcePlan;
  /** Prompt tokens of the requests that have run, and how many of them the cache had. */
  readonly lookups: CachedTokens & { tokens: number } = { tokens: 0, device: 0, host: 0, storage: 0 };
  /** Whether the device has the rows of a medium. */
  hasRows: (medium: Medium) => boolean = () => false;
  /** The most rows of the next step, of so many that are to be computed. */
  mostRows: (wanted: number) => number = () => Infinity;
  readonly #limits: SchedulerLimits;
  readonly #loadsPerStep: number;
  readonly #freeSlots: number[];
  #running: Sequence[] = [];
  #waiting: Sequence[] = [];
  #moves: PageMoves = { copies: [], loads: [], states: [] };
  /** Phase of the last step. */
  #phase: Phase | null = null;
  #retractions = 0;
  #arrivals = 0;

  constructor(limits: SchedulerLimits, { loads = 8 }: SchedulerOptions = {}) {
    this.pages = new SequencePages(limits.pages, limits.windows, limits.copies);
    this.drafts = new DraftPlan(this.pages, limits);
    this.sources = new SourcePlan(limits);
    this.#limits = limits;
    this.#loadsPerStep = loads;
    this.#freeSlots = Array.from({ length: limits.slots }, (_, i) => limits.slots - 1 - i);
  }

  /** Highest priority first, then in order of admission. */
  get running(): readonly Sequence[] {
    return this.#running;
  }

  /** Highest priority first, then in order of arrival. */
  get waiting(): readonly Sequence[] {
    return this.#waiting;
  }

  /** Number of times that a running sequence was retracted. */
  get retractions(): number {
    return this.#retractions;
  }

  add(sequence: Sequence): void {
    sequence.placement.arrival = this.#arrivals++;
    if (sequence.leader) sequence.leader.placement.prefix.copies.isShared = true;
    enqueue(this.#waiting, sequence);
  }

  /** Plans the next step and counts its rows as computed, but not those of drafts; empty if nothing can run. */
  plan(chosen: ChosenDrafts | null = null): PlannedPart[] {
    this.pages.freeSources();
    for (const sequence of this.#running) this.pages.publish(sequence);
    for (const sequence of this.#running) this.pages.passWindow(sequence);
    for (const sequence of this.#running) this.pages.states?.save(sequence);
    this.#admit();
    this.#takeLoads();
    this.sources.plan(this);
    const rows = Math.min(this.#limits.rows, this.mostRows(rowsWanted(this.#running)));
    const parts = planStep(this, { ...this.#limits, rows }, this.#phase);
    if (parts.length > 0) this.#phase = phaseOf(parts[0]!);
    return chosen && chosen.size > 0 ? this.drafts.add(parts, chosen, this.#running.length) : parts;
  }

  /** Returns and removes the page moves that must precede the planned step; null: none. */
  takeMoves(): PageMoves | null {
    const { copies, loads } = this.#moves;
    const states = this.drafts.takeMoves(this.pages.states?.takeMoves() ?? []);
    if (copies.length + loads.length + states.length === 0) return null;
    this.#moves = { copies: [], loads: [], states: [] };
    return { copies, loads, states };
  }

  /** Frees the slots and pages of finished sequences. */
  sweep(): void {
    const over = this.#running.filter(({ finished }) => finished);
    for (const sequence of over) this.#release(sequence);
    if (over.length > 0) this.#running = this.#running.filter(({ finished }) => !finished);
    this.#waiting = this.#waiting.filter(({ finished }) => !finished);
  }

  /**
   * Releases a sequence whose pages hold invalid values, and removes its pages from the prefix cache; returns the pages freed by
   * that.
   */
  discard(sequence: Sequence): number[] {
    const freed = this.pages.discard(sequence);
    this.#leaveSlot(sequence);
    this.#running = this.#running.filter((other) => other !== sequence);
    return freed;
  }

  /** Empties the prefix cache; returns false if a sequence runs or waits. */
  flush(): boolean {
    if (this.#running.length + this.#waiting.length > 0) return false;
    this.pages.tree.forget();
    return true;
  }

  /** Moves every sequence back to the queue after the device and its memory were lost. */
  restart(): void {
    for (const sequence of this.#running) {
      sequence.placement.forgetPages();
      this.#leaveSlot(sequence);
      enqueue(this.#waiting, sequence);
    }
    for (const { progress } of this.#waiting) progress.inFlight = 0;
    this.#running = [];
    this.drafts.forget();
    this.#moves = { copies: [], loads: [], states: [] };
    this.pages.reset();
  }

  /** Makes sure that a sequence has pages for `length` tokens, by retracting later sequences that are not in `planned`. */
  secure(sequence: Sequence, length: number, planned: ReadonlySet<Sequence>): boolean {
    while (sequence.placement.room < length) {
      if (this.pages.grow(sequence)) continue;
      const victim = this.#running.findLast((other) => !planned.has(other) && other !== sequence);
      if (!victim || this.#running.indexOf(victim) < this.#running.indexOf(sequence)) return false;
      this.#retract(victim);
    }
    return true;
  }

  chunk(sequence: Sequence, rows: number, mayWait: boolean): number {
    const { media } = sequence.request;
    const most = media?.chunk(sequence.progress.computed, rows, this.hasRows) ?? rows;
    return most === 0 ? 0 : (this.pages.states?.chunk(sequence, most, mayWait) ?? most);
  }

  #leaveSlot({ placement, progress }: Sequence): void {
    if (placement.slot !== null) this.#freeSlots.push(placement.slot);
    placement.slot = null;
    progress.computed = 0;
    progress.drafted = 0;
  }

  #release(sequence: Sequence): void {
    this.pages.release(sequence);
    this.#leaveSlot(sequence);
  }

  #retract(sequence: Sequence): void {
    this.#release(sequence);
    this.#running = this.#running.filter((other) => other !== sequence);
    enqueue(this.#waiting, sequence);
    this.#retractions++;
  }

  /** Admits waiting sequences while there are slots and pages; one of much higher priority preempts the last running one. */
  #admit(): void {
    while (this.#waiting.length > 0) {
      const lowest = this.#running.at(-1);
      const preempts = (sequence: Sequence): boolean =>
        lowest !== undefined && sequence.request.priority - lowest.request.priority >= PREEMPTION;
      if (this.#running.length === this.#limits.slots && !preempts(this.#waiting[0]!)) return;
      const next = chooseNext(this.#waiting, this.#running, this.pages);
      if (!next) return;
      if (this.#start(next)) continue;
      if (!preempts(next.sequence)) return;
      this.#retract(lowest!);
    }
  }

  /** Gives a waiting sequence a slot and the pages of its prefix; returns false if there is no room yet. */
  #start({ sequence, path }: Candidate): boolean {
    const { progress, placement } = sequence;
    const found = this.pages.found(sequence, path);
    if (this.#running.length === this.#limits.slots) return false;
    const passed = this.pages.firstsVisible(path.length * PAGE_TOKENS);
    const needed = this.#needed(sequence, path.length, passed);
    if (!this.pages.claim(sequence, path, needed + this.#promisedPages())) return false;
    progress.computed = path.length * PAGE_TOKENS;
    this.#takeFromQueue(sequence);
    placement.slot = this.#freeSlots.pop()!;
    const { priority } = sequence.request;
    const at = this.#running.findIndex(({ request }) => request.priority < priority);
    this.#running.splice(at < 0 ? this.#running.length : at, 0, sequence);
    this.pages.states?.begin(sequence, path, this.pages.known(sequence));
    if (!this.#copyFromSibling(sequence)) {
      const tokens = this.pages.growFrom(sequence, this.#moves.copies);
      found.device += Math.max(0, Math.min(tokens, progress.promptTokens - progress.computed));
      progress.computed += tokens;
    }
    // The first step computes at least one prompt token, so that it reports the prompt's progress even if all of it was cached.
    const processed = Math.min(path.length * PAGE_TOKENS, progress.promptTokens - 1);
    progress.processed = Math.max(progress.processed, processed);
    if (!placement.prefix.found) {
      placement.prefix.found = found;
      if (!sequence.leader) this.#countLookup(sequence, found);
    }
    return true;
  }

  #takeFromQueue(sequence: Sequence): void {
    for (const { request, placement } of this.#waiting.slice(0, this.#waiting.indexOf(sequence)))
      if (request.priority === sequence.request.priority) placement.passed++;
    this.#waiting = this.#waiting.filter((other) => other !== sequence);
  }

  #countLookup({ request, progress }: Sequence, found: CachedTokens): void {
    this.lookups.tokens += request.source?.tokens ?? progress.promptTokens;
    for (const tier of ['device', 'host', 'storage'] as const) this.lookups[tier] += found[tier];
  }

  /** Pages that the running sequences still need for the tokens they have. */
  #promisedPages(): number {
    return this.#running.reduce((sum, sequence) => {
      const { length, passedPages } = sequence.placement;
      return sum + this.#needed(sequence, length, passedPages);
    }, 0);
  }

  /**
   * Pages that a sequence needs now for the tokens it has, if `count` pages of each group of layers were allocated and `passed` of them
   * were released.
   */
  #needed({ progress }: Sequence, count: number, passed: readonly number[]): number {
    const needed = Math.max(0, pagesFor(progress.ids.length + 1) - count);
    return this.pages.windows.reduce((sum: number, window, group) => {
      if (window === null) return sum + needed;
      const most = windowPages(window, this.#limits.rows) - (count - passed[group]!);
      return sum + Math.max(0, Math.min(needed, most));
    }, 0);
  }

  /** Copies the partly filled last page of a prompt from another choice of the same request. */
  #copyFromSibling(sequence: Sequence): boolean {
    const { leader, progress } = sequence;
    const { computed, generated } = progress;
    const last = progress.promptTokens - 1;
    const rest = last - computed;
    // Fixed states are those of a sibling's last token, which has gone beyond the prompt.
    if (!leader || this.pages.states) return false;
    if (generated > 0 || rest <= 0 || rest >= PAGE_TOKENS) return false;
    const sibling = this.#running.find(
      (other) =>
        other !== sequence &&
        (other === leader || other.leader === leader) &&
        other.progress.computed >= last &&
        other.placement.passedPages.every((passed) => computed / PAGE_TOKENS >= passed) &&
        !other.placement.isLoading, // a page that is still to be loaded holds other bytes
    );
    if (!sibling || !this.pages.grow(sequence)) return false;
    sequence.placement.tables.forEach((pages, group) => {
      const from = sibling.placement.tables[group]![computed / PAGE_TOKENS]!;
      this.#moves.copies.push({ from, to: pages.at(-1)! });
    });
    progress.computed = last;
    return true;
  }

  #takeLoads(): void {
    const decodes = this.#running.some(
      ({ placement, progress }) => !placement.isLoading && progress.isPromptComputed,
    );
    let room = decodes ? this.#loadsPerStep : 4 * this.#loadsPerStep;
    for (const sequence of this.#running) {
      const loads = this.pages.takeLoads(sequence, room);
      this.#moves.loads.push(...loads);
      room -= loads.length;
    }
  }
}
