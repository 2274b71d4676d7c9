// Which rows the next step computes. Sequences that decode come first, one row each; what room is left goes to prompts,
// in chunks, oldest first. Pages are taken as sequences grow; when they run out the youngest sequence gives its pages
// back and computes its tokens again later.

import { PAGE_TOKENS } from '../../kernels/batch.ts';
import { createPagePool, type PagePool } from './pages.ts';
import { expectedLength, mayGrow, type Sequence } from './sequence.ts';

export interface Part {
  sequence: Sequence;
  /** Positions first to first + rows - 1 are computed. */
  first: number;
  rows: number;
  /** Whether its last row's token is sampled. */
  samples: boolean;
}

export interface Scheduler {
  readonly running: readonly Sequence[];
  readonly waiting: readonly Sequence[];
  readonly pages: PagePool;
  readonly retractions: number;
  add(sequence: Sequence): void;
  /** The next step, its rows already counted as computed; empty when nothing can run. */
  plan(): Part[];
  /** Frees what finished or aborted sequences hold. */
  sweep(): void;
  /** Forgets all that is computed, as after a lost device: everything waits again. */
  restart(): void;
}

export interface SchedulerLimits {
  pages: number;
  /** Sequences at once. */
  slots: number;
  /** Rows of one step. */
  rows: number;
}

export function createScheduler(limits: SchedulerLimits): Scheduler {
  let pages = createPagePool(limits.pages);
  let running: Sequence[] = [];
  let waiting: Sequence[] = [];
  let retractions = 0;
  const freeSlots = Array.from({ length: limits.slots }, (_, i) => limits.slots - 1 - i);

  const release = (sequence: Sequence): void => {
    pages.give(sequence.pages);
    sequence.pages = [];
    if (sequence.slot !== null) freeSlots.push(sequence.slot);
    sequence.slot = null;
    sequence.computed = 0;
  };

  const retract = (sequence: Sequence): void => {
    release(sequence);
    running = running.filter((other) => other !== sequence);
    waiting.unshift(sequence);
    retractions++;
  };

  /** Makes sure of pages up to a length, at the expense of younger sequences. */
  const secure = (sequence: Sequence, length: number, planned: ReadonlySet<Sequence>): boolean => {
    while (sequence.pages.length * PAGE_TOKENS < length) {
      const page = pages.take();
      if (page !== undefined) {
        sequence.pages.push(page);
        continue;
      }
      const victim = running.findLast((other) => !planned.has(other) && other !== sequence);
      if (!victim || running.indexOf(victim) < running.indexOf(sequence)) return false;
      retract(victim);
    }
    return true;
  };

  /** Pages that the running sequences still need for the tokens they have. */
  const promised = (): number =>
    running.reduce((sum, { ids, pages }) => sum + Math.max(0, pagesFor(ids.length + 1) - pages.length), 0);

  /** First come, first served: nobody passes a sequence that waits for pages, or for its last token after a retraction. */
  const admit = (): void => {
    for (let next = waiting[0]; next && running.length < limits.slots; next = waiting[0]) {
      if (next.inFlight > 0 || pages.free - promised() < pagesFor(next.ids.length + 1)) return;
      waiting.shift();
      next.slot = freeSlots.pop()!;
      running.push(next);
    }
  };

  return {
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
    get pages() {
      return pages;
    },
    get retractions() {
      return retractions;
    },
    add: (sequence) => void waiting.push(sequence),
    plan() {
      admit();
      const parts: Part[] = [];
      const planned = new Set<Sequence>();
      let room = limits.rows;
      const take = (sequence: Sequence, rows: number): void => {
        const first = sequence.computed;
        if (!secure(sequence, first + rows, planned)) return;
        const samples = first + rows === expectedLength(sequence) && mayGrow(sequence);
        parts.push({ sequence, first, rows, samples });
        planned.add(sequence);
        room -= rows;
        sequence.computed += rows;
        if (samples) sequence.inFlight++;
      };
      const left = (sequence: Sequence): number => expectedLength(sequence) - sequence.computed;
      for (const sequence of [...running]) {
        if (running.includes(sequence) && left(sequence) === 1 && mayGrow(sequence) && room > 0)
          take(sequence, 1);
      }
      for (const sequence of [...running]) {
        if (room > 0 && running.includes(sequence) && left(sequence) > 1)
          take(sequence, Math.min(room, left(sequence)));
      }
      return parts;
    },
    sweep() {
      const over = running.filter((sequence) => sequence.finished);
      over.forEach(release);
      if (over.length > 0) running = running.filter((sequence) => !sequence.finished);
      if (waiting.some((sequence) => sequence.finished))
        waiting = waiting.filter((sequence) => !sequence.finished);
    },
    restart() {
      for (const sequence of running) {
        release(sequence);
      }
      waiting = [...running, ...waiting];
      for (const sequence of waiting) sequence.inFlight = 0;
      running = [];
      pages = createPagePool(limits.pages);
    },
  };
}

export function pagesFor(tokens: number): number {
  return Math.ceil(tokens / PAGE_TOKENS);
}
