// Threads that run one task at a time: a task that takes too long, or whose caller has left, ends with its thread, whatever code it is
// running. Tasks wait in this queue, so that one that is aborted before its turn costs nothing.

import { onAbort } from '../async/abort-listeners.ts';
import type { Port } from './port.ts';
import { withResolvers } from '../async/resolvers.ts';
import { cancelled, TaskThread, type BegunTask, type TaskOptions } from './task-thread.ts';

export interface TaskThreadsOptions {
  /** Number of tasks that run at once, each in its own thread, which is started at its first task. */
  threads?: number;
  /** Milliseconds after which an idle thread is terminated, which frees all it allocated. Left out: it stays. */
  idle?: number;
}

interface Asked extends BegunTask {
  thread: TaskThread | null;
}

/**
 * Starts the newest and the oldest waiting task alternately, so that a task after a burst waits for one other task only, and an old
 * task is not overtaken forever.
 */
export class TaskThreads {
  readonly #waiting: Asked[] = [];
  #takesLast = true;
  readonly #threads: TaskThread[];

  /** `connect` starts a thread. */
  constructor(connect: () => Port, { threads = 1, idle = Infinity }: TaskThreadsOptions = {}) {
    this.#threads = Array.from({ length: threads }, () => new TaskThread(connect, idle, () => this.#next()));
  }

  /** Runs a task. Throws cancelled when `signal` aborts, timed_out where its thread had to be terminated, and the error of the task. */
  run(
    task: object,
    { signal, ...options }: TaskOptions & { signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    const asked: Asked = { ...options, task, answer: withResolvers<unknown>(), thread: null };
    const leave = (): void => this.#leave(asked);
    if (signal?.aborted) return Promise.reject(cancelled());
    const stopListening = onAbort(signal, leave);
    this.#waiting.push(asked);
    this.#next();
    return asked.answer.promise.finally(stopListening);
  }

  #leave(asked: Asked): void {
    const at = this.#waiting.indexOf(asked);
    if (at >= 0) this.#waiting.splice(at, 1);
    asked.thread?.abandon();
    asked.answer.reject(cancelled());
  }

  #next(): void {
    for (const thread of this.#threads) {
      if (this.#waiting.length === 0) return;
      if (!thread.isFree) continue;
      const asked = this.#take();
      asked.thread = thread;
      thread.begin(asked);
    }
  }

  #take(): Asked {
    if (this.#waiting.length === 1) return this.#waiting.pop()!;
    const asked = this.#takesLast ? this.#waiting.pop() : this.#waiting.shift();
    this.#takesLast = !this.#takesLast;
    return asked!;
  }
}
