// Threads that do one task after the other and can be ended in the middle of one: a task that is late, or that nobody waits for any
// more, ends with its thread, whatever code it is in. Tasks wait here, so that what is given up before its turn costs nothing.

import { EngineError } from '../files/error.ts';
import type { Port } from './session/port.ts';
import { withResolvers, type PromiseWithResolvers } from './resolvers.ts';
import { fromWire, type WireError } from './session/wire-error.ts';

/** The far side sends `ready` once it has loaded its code, then an answer for each task, in their order. */
export type FromTaskThread = 'ready' | TaskAnswer;

export interface TaskAnswer {
  result: unknown;
  error: WireError | null;
}

export interface TaskThreadsOptions {
  /** Tasks at once; a thread each, started at its first task. */
  threads?: number;
  /** Milliseconds after which a thread without a task is ended, with all it allocated. Left out: it stays. */
  idle?: number;
}

export interface TaskOptions {
  /** Milliseconds it may compute, from the moment a thread takes it. It should end by itself then. Left out: any time. */
  milliseconds?: number;
  /** `milliseconds` for the first task of a thread, which waits for its code to be compiled. Left out: as for others. */
  first?: number;
  signal?: AbortSignal | undefined;
  /** Asks the task, which a thread has begun, to end by itself. */
  stop?(): void;
}

interface Asked extends TaskOptions {
  task: object;
  answer: PromiseWithResolvers<unknown>;
  thread: TaskThread | null;
}

/** Milliseconds between the time a task should end by itself and the end of its thread. */
export const GRACE = 300;
/** Milliseconds that the start of a thread may take. */
const START_TIME = 30_000;

/**
 * The task that came last and the one that has waited longest are begun in turns: who comes after a burst of tasks waits for the turn of
 * one, and who waits is not overtaken for ever.
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

  /** Throws cancelled as `signal` aborts, timed_out where the thread had to be ended, and what the far side throws. */
  run(task: object, options: TaskOptions = {}): Promise<unknown> {
    const { signal } = options;
    const asked: Asked = { ...options, task, answer: withResolvers<unknown>(), thread: null };
    const leave = (): void => this.#leave(asked);
    if (signal?.aborted) return Promise.reject(cancelled());
    signal?.addEventListener('abort', leave, { once: true });
    this.#waiting.push(asked);
    this.#next();
    return asked.answer.promise.finally(() => signal?.removeEventListener('abort', leave));
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

/** One thread, started when it is needed and again after its end. */
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

  /** Nobody waits for the task it does. */
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

/** Does not keep the process alive by itself; what comes back undoes it. */
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
