// A model that leaves its device while it is idle: its thread ends, and the next request opens it again. Callers use it like any
// other model; the first answer takes longer.

import { unlessAborted } from '../../engine/async/abort-listeners.ts';
import { callByName, callNamed, modelObject, type AnyModel, type Calls } from './model.ts';
import { Session } from './session.ts';
import { BoundedWaitQueue, type WaitQueue } from '../../engine/async/wait-queue.ts';

/** What a model keeps while it sleeps. */
export interface SleepBehaviour<M> {
  /** Called before the model goes to sleep. */
  rest(model: M): Promise<Rest<M>>;
  /** The queue of requests while the model is opened again. */
  waitQueue: WaitQueue;
}

export interface Rest<M> {
  /** Answers to the passive calls (see Call) while the model sleeps. */
  answers: Partial<M>;
  /** Brings the model that was opened again to the state in which it went to sleep. */
  restore(model: M): Promise<void>;
}

export interface SleepOptions<M> extends SleepBehaviour<M> {
  /** Milliseconds without a request after which the model sleeps. */
  after: number;
  calls: Calls<M>;
  /** Opens the model again; an abort of `signal` cancels that. */
  open(signal: AbortSignal): Promise<M>;
  /** Called when the model goes to sleep, and when it is open again. */
  note?(message: string): void;
}

/** The sleep of a model without passive calls and with nothing to restore. */
export const PLAIN_SLEEP = {
  waitQueue: new BoundedWaitQueue(Infinity),
  rest: async <M>(): Promise<Rest<M>> => ({ answers: {}, restore: async () => {} }),
};

/** Returns the model in a form that sleeps when it is idle. */
export function letSleep<M extends AnyModel>(model: M, options: SleepOptions<M>): M {
  const sleeping = new SleepingModel(model, options);
  return modelObject(sleeping, options.calls, (name, given) =>
    sleeping.call(name as keyof M & string, given),
  );
}

class SleepingModel<M extends AnyModel> {
  readonly #options: SleepOptions<M>;
  readonly #session: Session<M>;
  /** State of the sleeping model; null while it is awake. */
  #rest: Rest<M> | null = null;
  /** Number of requests and calls that use the model or wait for it. */
  #uses = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(model: M, options: SleepOptions<M>) {
    this.#options = options;
    this.#session = new Session<M>(
      {
        open: (signal) => this.#wake(signal),
        close: (used) => used.close(),
        ended: (used) => used.ended,
      },
      model,
    );
    this.#scheduleSleep();
  }

  get info(): unknown {
    return this.#session.latest.info;
  }

  get asleep(): boolean {
    return this.#session.state === 'asleep' || this.#session.state === 'opening';
  }

  get ended(): Promise<Error> {
    return this.#session.ended;
  }

  async call(name: keyof M & string, given: unknown[]): Promise<unknown> {
    if (callNamed(this.#options.calls, name)?.passive) return this.#answer(name, given);
    this.#begin();
    try {
      return await callByName(await this.#session.ready(), name, given);
    } finally {
      this.#finish();
    }
  }

  async #answer(name: keyof M & string, given: unknown[]): Promise<unknown> {
    this.#session.assertOpen();
    const answers = this.#session.state === 'ready' ? this.#session.latest : this.#rest?.answers;
    return callByName(answers ?? (await this.#session.ready()), name, given);
  }

  async *generate(request: never, options?: { signal?: AbortSignal }): AsyncGenerator<unknown, void, void> {
    this.#begin();
    try {
      if (this.#session.state === 'ready') yield* this.#session.latest.generate(request, options);
      else yield* this.#generateOnceOpen(request, options);
    } finally {
      this.#finish();
    }
  }

  async *#generateOnceOpen(
    request: never,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<unknown, void, void> {
    const entry = this.#options.waitQueue.enter(request);
    const opened = unlessAborted(() => this.#session.ready(), options?.signal);
    let later: unknown;
    const outcome = await Promise.race([
      opened.then((model) => ({ model, events: [] })),
      entry.ended.then((events) => ({ model: null, events })),
    ]).finally(() => (later = entry.leave()));
    if (outcome.model) yield* outcome.model.generate(later as never, options);
    else yield* outcome.events;
  }

  close(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#session.close();
  }

  #begin(): void {
    this.#session.assertOpen();
    this.#uses++;
    clearTimeout(this.#timer);
  }

  #finish(): void {
    if (--this.#uses === 0) this.#scheduleSleep();
  }

  #scheduleSleep(): void {
    clearTimeout(this.#timer);
    if (this.#session.state === 'closed') return;
    this.#timer = setTimeout(() => void this.#sleep(), this.#options.after);
    // A timer in Node is an object, and keeps the process alive unless it is unreferenced.
    const timer: unknown = this.#timer;
    if (timer instanceof Object && 'unref' in timer) (timer as { unref(): void }).unref();
  }

  async #sleep(): Promise<void> {
    if (this.#session.state !== 'ready') return;
    const { after, note, rest } = this.#options;
    const state = await rest(this.#session.latest).catch(() => null); // the model has ended
    if (!state || this.#uses > 0 || this.#session.state !== 'ready') return;
    this.#rest = state;
    this.#session.sleep();
    note?.(`closed after ${seconds(after)} without a request; the next one opens it again`);
  }

  async #wake(signal: AbortSignal): Promise<M> {
    const { open, note } = this.#options;
    const begun = performance.now();
    const model = await open(signal);
    try {
      await this.#rest?.restore(model);
    } catch (error) {
      await model.close();
      throw error;
    }
    this.#rest = null;
    note?.(`open again after ${seconds(performance.now() - begun)}`);
    if (this.#uses === 0) this.#scheduleSleep(); // all callers left while the model was opened
    return model;
  }
}

function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toPrecision(2))} s`;
}
