// The threads that compile grammars, and the memory that they hold.
//
// - One thread stays free for grammars that have not begun yet, so that a small one begins at once however many large ones there are.
// - A grammar whose turn is over keeps its heap. Together the heaps of begun grammars are at most as large as those of the running ones
//   may become (MOST_HEAP); the scheduler ends paused ones beyond that.
// - A thread whose heap has grown is started again after its task, as V8 gives the memory of an idle thread back late or never.

import type { Port } from '../../platform/port.ts';
import { TaskThread } from '../../platform/task-thread.ts';
import { canPause } from './compile-turn.ts';

/** Grammars that compile at once. */
export const RUNNING = 2;
/** Without shared memory no grammar can pause, so that more threads than running grammars would be idle. */
export const THREADS = canPause() ? 6 : RUNNING;
/** Threads that only new grammars get. */
const RESERVED = canPause() ? 1 : 0;
const MIB = 2 ** 20;
/** Heap limit of a thread in MiB. */
export const GRAMMAR_MEMORY = 512;
/** Most bytes of the heaps of all begun grammars, as long as a paused one is among them. */
export const MOST_HEAP = RUNNING * GRAMMAR_MEMORY * MIB;
/** Bytes of a heap that cannot be measured, as in a page. */
const ASSUMED_HEAP = 256 * MIB;
/** Bytes of heap up to which a thread takes another task; most grammars stay below 100 MiB. */
const KEPT_HEAP = 128 * MIB;
/** Milliseconds without a task after which a thread ends that is only needed while many grammars are begun. */
const IDLE = 5000;

export class GrammarThreads {
  readonly #threads: TaskThread[];

  /** `connect` starts a thread with a heap limit in MiB; `onFree` is called after each task. */
  constructor(connect: (memory: number) => Port, onFree: () => void) {
    const clear = (thread: TaskThread): void => {
      if (thread.heap > KEPT_HEAP) thread.renew();
      onFree();
    };
    this.#threads = Array.from(
      { length: THREADS },
      (_, i) => new TaskThread(() => connect(GRAMMAR_MEMORY), i < RUNNING ? Infinity : IDLE, clear),
    );
  }

  /** The thread for a grammar, the readiest first; null: none is free. `isNew`: whether the grammar has not begun yet. */
  find(isNew: boolean): TaskThread | null {
    const free = this.#free;
    if (free.length <= (isNew ? 0 : RESERVED)) return null;
    return free.find(({ isReady }) => isReady) ?? free.find(({ isStarted }) => isStarted) ?? free[0]!;
  }

  /** Whether a new grammar can begin. */
  get hasReserve(): boolean {
    return this.#free.length >= RESERVED;
  }

  /** Starts a free thread before it is needed. */
  startSpare(): void {
    const free = this.#free;
    if (!free.some(({ isStarted }) => isStarted)) free[0]?.start();
  }

  /** Bytes of the heaps of all threads that have a task. */
  get heap(): number {
    return this.#threads.reduce((sum, { isFree, heap }) => sum + (isFree ? 0 : heap), 0);
  }

  /** Whether so many bytes of heap fit beside the begun grammars. They always do where there are none. */
  hasRoom(bytes: number): boolean {
    const { heap } = this;
    return bytes === 0 || heap === 0 || heap + bytes <= MOST_HEAP;
  }

  get #free(): TaskThread[] {
    return this.#threads.filter(({ isFree }) => isFree);
  }
}

/** Notes the heap that a thread reports. */
export function noteHeap(thread: TaskThread, heap: number | null): void {
  thread.heap = heap ?? ASSUMED_HEAP;
}
