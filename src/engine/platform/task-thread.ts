// A thread that runs one task at a time and can be terminated during a task. A thread that ends during a task is started again at once,
// so that the next task does not wait for the start.

import { EngineError } from '../../files/error.ts';
import type { Port } from './port.ts';
import type { PromiseWithResolvers } from '../async/resolvers.ts';
import { fromWire, type WireError } from './wire-error.ts';

/** Messages from a thread: `ready` once it has loaded its code, then for each task, in order, any number of reports and an answer. */
export type FromTaskThread = 'ready' | TaskReport | TaskAnswer;

export interface TaskReport {
  report: unknown;
}

export interface TaskAnswer {
  result: unknown;
  error: WireError | null;
}

export interface TaskOptions {
  /**
   * Milliseconds that the task may compute, from the moment a thread takes it; it should then end by itself. Left out: unlimited.
   */
  milliseconds?: number;
  /** `milliseconds` for the first task of a thread, which includes compiling its code. Left out: as for other tasks. */
  first?: number;
  /** Asks a task that has begun to end by itself. */
  stop?(): void;
  /** Receives the reports of the task. */
  onReport?(report: unknown): void;
}

export interface BegunTask extends TaskOptions {
  task: object;
  answer: PromiseWithResolvers<unknown>;
}

/** Milliseconds from the time when a task should end by itself to the termination of its thread. */
export const GRACE = 300;
/** Milliseconds that the start of a thread may take. */
const START_TIME = 30_000;

export class TaskThread {
  /** Bytes of its heap, for callers whose tasks report them; 0 when it is started. */
  heap = 0;
  readonly #connect: () => Port;
  readonly #idle: number;
  readonly #onFree: (thread: TaskThread) => void;
  #port: Port | null = null;
  #isReady = false;
  /** Whether the thread has run no task yet. */
  #isNew = true;
  #begun: BegunTask | null = null;
  #cancelTimer: () => void = () => {};

  /** `connect` starts a thread; `idle`: milliseconds without a task after which it is terminated; `onFree` is called after each task. */
  constructor(connect: () => Port, idle: number, onFree: (thread: TaskThread) => void) {
    this.#connect = connect;
    this.#idle = idle;
    this.#onFree = onFree;
  }

  get isFree(): boolean {
    return this.#begun === null;
  }

  get isStarted(): boolean {
    return this.#port !== null;
  }

  /** Whether it has loaded its code, so that a task begins without delay. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts the thread before its first task. */
  start(): void {
    if (this.#port !== null) return;
    this.#open();
    this.#endIn(this.#idle, cancelled);
  }

  begin(begun: BegunTask): void {
    this.#begun = begun;
    const port = this.#port ?? this.#open();
    if (this.#isReady) this.#limit();
    else this.#endIn(START_TIME, late);
    port.post(begun.task);
  }

  /** Ends the running task, because nobody waits for its answer. */
  abandon(): void {
    if (this.#begun?.stop === undefined) this.#end(cancelled);
    else {
      this.#begun.stop();
      // A thread that is still loading begins the task all the same, and has no more time for it.
      this.#begun = { ...this.#begun, milliseconds: 0, first: 0 };
      this.#endIn(GRACE, cancelled);
    }
  }

  /** Ends the thread at once, which frees its heap, and starts it again. A running task ends as with `abandon`. */
  renew(): void {
    if (this.#begun !== null) return this.#end(cancelled);
    const port = this.#port;
    this.#port = null;
    port?.end?.();
    this.start();
  }

  #open(): Port {
    const port = this.#connect();
    this.#port = port;
    this.#isReady = false;
    this.#isNew = true;
    this.heap = 0;
    port.onMessage((message) => {
      if (port === this.#port) this.#receive(message as FromTaskThread);
    });
    port.onLost((error) => {
      if (port === this.#port) this.#lose((answer) => answer.reject(error));
    });
    return port;
  }

  #receive(message: FromTaskThread): void {
    if (message === 'ready') {
      this.#isReady = true;
      if (this.#begun !== null) this.#limit();
    } else if ('report' in message) {
      this.#begun?.onReport?.(message.report);
    } else {
      const { result, error } = message;
      this.#settle((answer) => (error ? answer.reject(fromWire(error)) : answer.resolve(result)));
    }
  }

  #settle(say: (answer: PromiseWithResolvers<unknown>) => void): void {
    const begun = this.#begun;
    this.#begun = null;
    this.#cancelTimer();
    if (begun !== null) say(begun.answer);
    this.#onFree(this);
    if (this.isFree && this.#port !== null) this.#endIn(this.#idle, cancelled);
  }

  /** The thread is gone. A thread that could not even start is started again by the next task only. */
  #lose(say: (answer: PromiseWithResolvers<unknown>) => void): void {
    const isReplaced = this.#begun !== null && this.#isReady;
    this.#port = null;
    this.#isReady = false;
    if (isReplaced) this.#open();
    this.#settle(say);
  }

  #limit(): void {
    const { milliseconds, first } = this.#begun!;
    const most = this.#isNew ? (first ?? milliseconds) : milliseconds;
    this.#isNew = false;
    this.#endIn((most ?? Infinity) + GRACE, late);
  }

  #endIn(milliseconds: number, error: () => EngineError): void {
    this.#cancelTimer();
    this.#cancelTimer = after(milliseconds, () => this.#end(error));
  }

  #end(error: () => EngineError): void {
    const port = this.#port;
    this.#lose((answer) => answer.reject(error()));
    port?.end?.();
  }
}

/** Starts a timer that does not keep the process alive; the returned function cancels it. */
export function after(milliseconds: number, act: () => void): () => void {
  if (milliseconds === Infinity) return () => {};
  const timer: unknown = setTimeout(act, milliseconds);
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref();
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

export function cancelled(): EngineError {
  return new EngineError('cancelled', 'nobody waits for the task any more');
}

function late(): EngineError {
  return new EngineError('timed_out', 'the task took longer than it may');
}
