// Threads that run one task at a time and can be terminated during a task: a task that takes too long, or whose caller has left,
// ends with its thread, whatever code it is running. Tasks wait in this queue, so that one that is aborted before its turn costs
// nothing.

import { EngineError } from '../files/error.ts';
import { onAbort } from './abort-listeners.ts';
import type { Port } from './session/port.ts';
import { withResolvers, type PromiseWithResolvers } from './resolvers.ts';
import { fromWire, type WireError } from './session/wire-error.ts';

/** Messages from a thread: `ready` once it has loaded its code, then an answer for each task, in order. */
export type FromTaskThread = 'ready' | TaskAnswer;

export interface TaskAnswer {
  result: unknown;
  error: WireError | null;
}

export interface TaskThreadsOptions {
  /** Number of tasks that run at once, each in its own thread, which is started at its first task. */
  threads?: number;
  /** Milliseconds after which an idle thread is terminated, which frees all it allocated. Left out: it stays. */
  idle?: number;
}

export interface TaskOptions {
  /**
   * Milliseconds that the task may compute, from the moment a thread takes it; it should then end by itself. Left out: unlimited.
   */
  milliseconds?: number;
  /** `milliseconds` for the first task of a thread, which includes compiling its code. Left out: as for other tasks. */
  first?: number;
  signal?: AbortSignal | undefined;
  /** Asks a task that has begun to end by itself. */
  stop?(): void;
}

interface Asked extends TaskOptions {
  task: object;
  answer: PromiseWithResolvers<unknown>;
  thread: TaskThread | null;
}

/** Milliseconds from the time when a task should end by itself to the termination of its thread. */
export const GRACE = 300;
/** Milliseconds that the start of a thread may take. */
const START_TIME = 30_000;

/**
 * Starts the newest and the oldest waiting task alternately, so that a task after a burst waits for one other task only, and an old
 * task is not overtaken forever.
 */
export class TaskThreads {
  readonly #waiting: Asked[] = [];
  #takesLast = true;
  readonly #threads: TaskThread[];

  /** `connect` starts a thread. */
  constructor(connect: () => Port, { threads = 1, idle }: TaskThreadsOptions = {}) {
    this.#threads = Array.from(
      { length: threads },
      () => new TaskThread(connect, idle ?? Infinity, () => this.#next()),
    );
  }

  /** Runs a task. Throws cancelled when `signal` aborts, timed_out where its thread had to be terminated, and the error of the task. */
  run(task: object, options: TaskOptions = {}): Promise<unknown> {
    const { signal } = options;
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
      if (thread.isFree) thread.begin(this.#take());
    }
  }

  #take(): Asked {
    if (this.#waiting.length === 1) return this.#waiting.pop()!;
    const asked = this.#takesLast ? this.#waiting.pop() : this.#waiting.shift();
    this.#takesLast = !this.#takesLast;
    return asked!;
  }
}

/** A thread that is started at its first task, and again at the first one after it was terminated. */
class TaskThread {
  readonly #connect: () => Port;
  readonly #idle: number;
  readonly #onFree: () => void;
  #port: Port | null = null;
  #asked: Asked | null = null;
  #cancelTimer: () => void = () => {};

  constructor(connect: () => Port, idle: number, onFree: () => void) {
    this.#connect = connect;
    this.#idle = idle;
    this.#onFree = onFree;
  }

  get isFree(): boolean {
    return this.#asked === null;
  }

  begin(asked: Asked): void {
    this.#asked = asked;
    asked.thread = this;
    if (this.#port !== null) this.#limit(asked.milliseconds);
    else {
      this.#port = this.#start();
      this.#endIn(START_TIME, late);
    }
    this.#port.post(asked.task);
  }

  /** Ends the running task, because its caller has left. */
  abandon(): void {
    if (this.#asked?.stop === undefined) this.#end(cancelled);
    else {
      this.#asked.stop();
      this.#endIn(GRACE, cancelled);
    }
  }

  #start(): Port {
    const port = this.#connect();
    port.onMessage((message) => {
      const said = message as FromTaskThread;
      if (said === 'ready') {
        if (port === this.#port && this.#asked !== null)
          this.#limit(this.#asked.first ?? this.#asked.milliseconds);
        return;
      }
      const { result, error } = said;
      if (port === this.#port)
        this.#settle((answer) => (error ? answer.reject(fromWire(error)) : answer.resolve(result)));
    });
    port.onLost((error) => {
      if (port !== this.#port) return;
      this.#port = null;
      this.#settle((answer) => answer.reject(error));
    });
    return port;
  }

  #settle(say: (answer: PromiseWithResolvers<unknown>) => void): void {
    const asked = this.#asked;
    this.#asked = null;
    this.#cancelTimer();
    if (asked !== null) say(asked.answer);
    this.#onFree();
    if (this.#asked === null && this.#port !== null) this.#endIn(this.#idle, cancelled);
  }

  #limit(milliseconds = Infinity): void {
    this.#endIn(milliseconds + GRACE, late);
  }

  #endIn(milliseconds: number, error: () => EngineError): void {
    this.#cancelTimer();
    this.#cancelTimer = after(milliseconds, () => this.#end(error));
  }

  #end(error: () => EngineError): void {
    const port = this.#port;
    this.#port = null;
    port?.end?.();
    this.#settle((answer) => answer.reject(error()));
  }
}

/** Starts a timer that does not keep the process alive; the returned function cancels it. */
function after(milliseconds: number, act: () => void): () => void {
  if (milliseconds === Infinity) return () => {};
  const timer: unknown = setTimeout(act, milliseconds);
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref();
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

function cancelled(): EngineError {
  return new EngineError('cancelled', 'nobody waits for the task any more');
}

function late(): EngineError {
  return new EngineError('timed_out', 'the task took longer than it may');
}
