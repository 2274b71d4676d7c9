// Which rows the next step computes. Sequences that decode come first, one row each; what room is left goes to prompts, in
// chunks. The order is that of priority, then of being let in. Pages are taken as sequences grow; when there are none left
// that only the cache holds, the last in order gives its pages back and goes on later, from what the cache still has.

import { PAGE_TOKENS, TILE_ROWS } from '../../kernels/batch.ts';
import { chooseNext, enqueue, type Candidate } from './admission.ts';
import type { PageNode } from './cache/prefix-tree.ts';
import type { Sequence } from './sequence.ts';
import { createSequencePages, type PageMoves, type SequencePages } from './cache/sequence-pages.ts';
import type { CachedTokens } from './text-model.ts';

export interface Part {
  sequence: Sequence;
  /** Positions first to first + rows - 1 are computed. */
  first: number;
  rows: number;
  /** Whether its last row's token is sampled. */
  samples: boolean;
  /** Prompt tokens that are computed or found by now; null: nothing new. */
  processed: number | null;
}

export interface Scheduler {
  readonly running: readonly Sequence[];
  readonly waiting: readonly Sequence[];
  readonly pages: SequencePages;
  readonly retractions: number;
  /** Prompt tokens of the requests that have run, and how many of them the cache had. */
  readonly lookups: Readonly<CachedTokens & { tokens: number }>;
  add(sequence: Sequence): void;
  /** The next step, its rows already counted as computed; empty when nothing can run. */
  plan(): Part[];
  /** What has to be on the device before that step; null: nothing. */
  takeMoves(): PageMoves | null;
  /** Frees what finished or aborted sequences hold. */
  sweep(): void;
  /** Releases a sequence whose pages are spoilt, and forgets what it shared; pages that are free by that. */
  discard(sequence: Sequence): number[];
  /** Empties the cache; false: something runs or waits. */
  flush(): boolean;
  /** Forgets all that is on the device, as after its loss: everything waits again. */
  restart(): void;
}

export interface SchedulerLimits {
  pages: number;
  /** Sequences at once. */
  slots: number;
  /** Rows of one step. */
  rows: number;
}

export interface SchedulerOptions {
  /** Pages that are written to the device in one step while others decode; four times as many while none does. */
  loads?: number;
}

/** By how much a priority must be higher for a running sequence to make room. */
const PREEMPTION = 10;

export function createScheduler(
  limits: SchedulerLimits,
  { loads: mostLoads = 8 }: SchedulerOptions = {},
): Scheduler {
  const pages = createSequencePages(limits.pages);
  let running: Sequence[] = [];
  let waiting: Sequence[] = [];
  let moves: PageMoves = { copies: [], loads: [] };
  let retractions = 0;
  let arrivals = 0;
  const lookups = { tokens: 0, device: 0, host: 0, storage: 0 };
  const freeSlots = Array.from({ length: limits.slots }, (_, i) => limits.slots - 1 - i);

  const leave = ({ placement, progress }: Sequence): void => {
    if (placement.slot !== null) freeSlots.push(placement.slot);
    placement.slot = null;
    progress.computed = 0;
  };

  const release = (sequence: Sequence): void => {
    pages.release(sequence);
    leave(sequence);
  };

  const retract = (sequence: Sequence): void => {
    release(sequence);
    running = running.filter((other) => other !== sequence);
    enqueue(waiting, sequence);
    retractions++;
  };

  /** Makes sure of pages up to a length, at the expense of those later in order. */
  const secure = (sequence: Sequence, length: number, planned: ReadonlySet<Sequence>): boolean => {
    while (sequence.placement.room < length) {
      if (pages.grow(sequence)) continue;
      const victim = running.findLast((other) => !planned.has(other) && other !== sequence);
      if (!victim || running.indexOf(victim) < running.indexOf(sequence)) return false;
      retract(victim);
    }
    return true;
  };

  /** Pages that the running sequences still need for the tokens they have. */
  const promised = (): number =>
    running.reduce(
      (sum, { progress, placement }) =>
        sum + Math.max(0, pagesFor(progress.ids.length + 1) - placement.pages.length),
      0,
    );

  /** false: it does not fit yet. */
  const letIn = ({ sequence, path }: Candidate): boolean => {
    const { progress, placement } = sequence;
    const { priority } = sequence.request;
    const found = foundIn(sequence, path);
    if (running.length === limits.slots) return false;
    if (!pages.claim(sequence, path, pagesFor(progress.ids.length + 1) - path.length + promised()))
      return false;
    progress.computed = path.length * PAGE_TOKENS;
    // One is left, so that the first step tells of the prompt even where all of it was found.
    progress.processed = Math.max(progress.processed, Math.min(progress.computed, progress.promptTokens - 1));
    if (!placement.prefix.found) {
      placement.prefix.found = found;
      if (!sequence.leader) count(sequence);
    }
    for (const before of waiting.slice(0, waiting.indexOf(sequence))) {
      if (before.request.priority === priority) before.placement.passed++;
    }
    waiting = waiting.filter((other) => other !== sequence);
    placement.slot = freeSlots.pop()!;
    const at = running.findIndex(({ request }) => request.priority < priority);
    running.splice(at < 0 ? running.length : at, 0, sequence);
    copyRest(sequence);
    return true;
  };

  const count = ({ placement, progress }: Sequence): void => {
    lookups.tokens += progress.promptTokens;
    for (const tier of ['device', 'host', 'storage'] as const) lookups[tier] += placement.prefix.found![tier];
  };

  /** What a choice shares with its siblings beyond full pages is copied from one of them. */
  const copyRest = (sequence: Sequence): void => {
    const { leader, progress } = sequence;
    const { computed, generated } = progress;
    const last = progress.promptTokens - 1;
    const rest = last - computed;
    if (!leader || generated > 0 || rest <= 0 || rest >= PAGE_TOKENS) return;
    const sibling = running.find(
      (other) =>
        other !== sequence &&
        (other === leader || other.leader === leader) &&
        other.progress.computed >= last &&
        !other.placement.isLoading, // what is still to be loaded holds something else
    );
    if (!sibling || !pages.grow(sequence)) return;
    const from = sibling.placement.pages[computed / PAGE_TOKENS]!;
    moves.copies.push({ from, to: sequence.placement.pages.at(-1)! });
    progress.computed = last;
  };

  const admit = (): void => {
    while (waiting.length > 0) {
      const lowest = running.at(-1);
      const mayPreempt =
        lowest !== undefined && waiting[0]!.request.priority - lowest.request.priority >= PREEMPTION;
      if (running.length === limits.slots && !mayPreempt) return;
      const next = chooseNext(waiting, running, pages);
      if (!next) return;
      if (letIn(next)) continue;
      if (!lowest || next.sequence.request.priority - lowest.request.priority < PREEMPTION) return;
      retract(lowest);
    }
  };

  const takeLoads = (): void => {
    const decodes = running.some(
      ({ placement, progress }) => !placement.isLoading && progress.isPromptComputed,
    );
    let room = decodes ? mostLoads : 4 * mostLoads;
    for (const sequence of running) {
      const loads = pages.takeLoads(sequence, room);
      moves.loads.push(...loads);
      room -= loads.length;
    }
  };

  return {
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
    pages,
    get retractions() {
      return retractions;
    },
    lookups,
    add(sequence) {
      sequence.placement.arrival = arrivals++;
      enqueue(waiting, sequence);
    },
    plan() {
      running.forEach(pages.publish);
      admit();
      takeLoads();
      const parts: Part[] = [];
      const planned = new Set<Sequence>();
      let room = limits.rows;
      const take = (sequence: Sequence, rows: number): void => {
        const { progress } = sequence;
        const first = progress.computed;
        if (!secure(sequence, first + rows, planned)) return;
        const samples = first + rows === progress.expectedLength && sequence.mayGrow;
        planned.add(sequence);
        room -= rows;
        progress.computed += rows;
        parts.push({ sequence, first, rows, samples, processed: progress.advance() });
        if (samples) progress.inFlight++;
      };
      const ready = (sequence: Sequence): boolean =>
        room > 0 && !sequence.placement.isLoading && running.includes(sequence);
      for (const sequence of [...running]) {
        if (ready(sequence) && sequence.progress.remaining === 1 && sequence.needsRow) take(sequence, 1);
      }
      const others = running.filter(({ progress }) => progress.remaining > 1);
      const prompts = others.filter(
        ({ progress }) => !progress.isPromptComputed || progress.remaining > TILE_ROWS,
      );
      // Tokens that a grammar forced fill up the tile that is computed anyway; a row each is what they would have taken without it.
      const used = limits.rows - room + others.length;
      let spare = prompts.length > 0 ? room : -used & (TILE_ROWS - 1);
      for (const sequence of others) {
        if (!ready(sequence)) continue;
        const most = prompts.includes(sequence) ? room : Math.min(room, 1 + spare);
        const rows = Math.min(most, sequence.progress.remaining);
        spare = Math.max(0, spare - (rows - 1));
        take(sequence, rows);
      }
      return parts;
    },
    takeMoves() {
      if (moves.copies.length + moves.loads.length === 0) return null;
      const taken = moves;
      moves = { copies: [], loads: [] };
      return taken;
    },
    sweep() {
      const over = running.filter((sequence) => sequence.finished);
      over.forEach(release);
      if (over.length > 0) running = running.filter((sequence) => !sequence.finished);
      if (waiting.some((sequence) => sequence.finished))
        waiting = waiting.filter((sequence) => !sequence.finished);
    },
    discard(sequence) {
      const spoilt = pages.discard(sequence);
      leave(sequence);
      running = running.filter((other) => other !== sequence);
      return spoilt;
    },
    flush() {
      if (running.length + waiting.length > 0) return false;
      pages.tree.forget();
      return true;
    },
    restart() {
      for (const sequence of running) {
        sequence.placement.forgetPages();
        leave(sequence);
        enqueue(waiting, sequence);
      }
      for (const sequence of waiting) sequence.progress.inFlight = 0;
      running = [];
      moves = { copies: [], loads: [] };
      pages.reset();
    },
  };
}

/** Where the prompt's tokens were before they were fetched for it; at most `promptTokens` of them count. */
function foundIn({ progress, placement }: Sequence, path: readonly PageNode[]): CachedTokens {
  const [first, end] = placement.prefix.fetched;
  const found = { device: 0, host: 0, storage: 0 };
  path.forEach(({ page }, at) => {
    const tier = at >= first && at < end ? 'storage' : page === null ? 'host' : 'device';
    found[tier] += Math.max(0, Math.min(PAGE_TOKENS, progress.promptTokens - at * PAGE_TOKENS));
  });
  return found;
}

export function pagesFor(tokens: number): number {
  return Math.ceil(tokens / PAGE_TOKENS);
}
