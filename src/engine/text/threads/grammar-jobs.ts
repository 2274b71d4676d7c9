// The grammars that wait for their compilation or are being compiled, and the order in which they take turns: first those of the
// client for whom the least work was done, and among them the one with the least work.

import type { PromiseWithResolvers } from '../../async/resolvers.ts';
import type { TaskThread } from '../../platform/task-thread.ts';
import { CompileTurn } from './compile-turn.ts';
import type { CompiledSource, GrammarSource } from './grammar-source.ts';

/** Steps of work of a turn, about 40 ms. Smaller differences between grammars or clients do not count. */
export const TURN_STEPS = 2_000_000;

export interface Client {
  /** Steps done for its grammars since it last had none. */
  spent: number;
  grammars: number;
}

export class GrammarJob {
  readonly source: GrammarSource;
  readonly available: Uint8Array;
  readonly client: Client;
  readonly answer: PromiseWithResolvers<CompiledSource>;
  /** Number of the job in the order in which they came. */
  readonly number: number;
  turn = new CompileTurn();
  /** null: it has not begun, or was set back. */
  thread: TaskThread | null = null;
  /** A `stopping` job ends its thread's task, to begin again later; `ended`: its answer is settled. */
  state: 'waiting' | 'running' | 'paused' | 'stopping' | 'ended' = 'waiting';
  /** Steps at which its turn ends. */
  turnEnd = Infinity;
  /** Steps done in its thread, as reported last. */
  progress = 0;
  /** Steps before which its thread is not taken from it. */
  keepsUntil = TURN_STEPS;
  /** The most steps done in any thread. */
  attained = 0;
  /** Bytes of heap for which there must be room before it begins again, since it was set back for them. */
  heap = 0;

  constructor(
    { source, available, client }: Pick<GrammarJob, 'source' | 'available' | 'client'>,
    answer: PromiseWithResolvers<CompiledSource>,
    number: number,
  ) {
    this.source = source;
    this.available = available;
    this.client = client;
    this.answer = answer;
    this.number = number;
  }

  /** Whether it can be given a turn. */
  get isReady(): boolean {
    return this.state === 'waiting' || this.state === 'paused';
  }

  /** Whether it has not shown yet how much work it is. */
  get isNew(): boolean {
    return this.attained === 0;
  }

  /** Whether it has done enough work since its begin for its thread to be taken from it. */
  get isDue(): boolean {
    return this.progress >= this.keepsUntil;
  }

  report(steps: number): void {
    this.client.spent += Math.max(0, steps - this.progress);
    this.progress = steps;
    this.attained = Math.max(this.attained, steps);
  }

  /** Prepares for another begin; the work in the thread is lost. */
  setBack(): void {
    this.state = 'waiting';
    this.thread = null;
    this.progress = 0;
    this.turn = new CompileTurn();
  }
}

/** Negative where `a` goes before `b` because less work was done; 0 where neither does. */
export function compareWork(a: GrammarJob, b: GrammarJob): number {
  const turns = (steps: number): number => Math.floor(steps / TURN_STEPS);
  return turns(a.client.spent) - turns(b.client.spent) || turns(a.attained) - turns(b.attained);
}

/** A copy in the order of turns. */
export function inOrder(jobs: Iterable<GrammarJob>): GrammarJob[] {
  return [...jobs].toSorted((a, b) => compareWork(a, b) || a.number - b.number);
}
