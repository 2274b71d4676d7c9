// A model that leaves the device where nobody asks anything of it for a while: its thread ends, and the next request opens it
// again. To those who ask it is the same model, which takes longer to answer.

import { EngineError } from '../../files/error.ts';
import { plainLobby, type Lobby } from './wait-queue.ts';
import { closedError, type Model } from './model-proxy.ts';
import { withResolvers } from '../resolvers.ts';

export interface Sleep<M> {
  /** Milliseconds without anything asked. */
  after: number;
  /** Opens it again; `signal` gives that up. */
  open(signal: AbortSignal): Promise<M>;
  /** Calls that neither wake it nor keep it awake; `rest` has their answers. */
  passive: readonly (keyof M)[];
  /** Asked before it sleeps. */
  rest(model: M): Promise<Rest<M>>;
  /** Where requests wait while it is opened. */
  lobby: Lobby;
  /** Hears that it sleeps, and that it is awake again. */
  tell?(message: string): void;
}

export interface Rest<M> {
  /** In place of the passive calls, while it sleeps. */
  answers: Partial<M>;
  /** Brings the model that was opened again to where this one was. */
  restore(model: M): Promise<void>;
}

/** For a model that has nothing to tell and nothing to lose. */
export const plainRest = {
  passive: [],
  lobby: plainLobby(Infinity),
  rest: async <M>(): Promise<Rest<M>> => ({ answers: {}, restore: async () => {} }),
};

type AnyModel = Model<unknown, never, unknown>;
type Method = (...given: unknown[]) => unknown;

/** The model, asleep or awake. */
export function letSleep<M extends AnyModel>(
  first: M,
  { after, open, passive, rest, lobby, tell = () => {} }: Sleep<M>,
): M {
  const { promise: ended, resolve: end } = withResolvers<Error>();
  const leaving = new AbortController();
  /** null: it sleeps. */
  let current: M | null = null;
  let opening: Promise<M> | null = null;
  let left: Rest<M> | null = null;
  let gone = Promise.resolve();
  let uses = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let info = first.info;
  let closing: Promise<void> | null = null;

  const take = (model: M): M => {
    current = model;
    info = model.info;
    // One that is put to sleep is current no more.
    void model.ended.then((reason) => {
      if (current === model) end(reason);
    });
    return model;
  };

  const wake = async (): Promise<M> => {
    await gone; // its memory is free only then
    const begun = performance.now();
    const model = await open(leaving.signal);
    try {
      await left?.restore(model);
    } catch (error) {
      await model.close();
      throw error;
    }
    left = null;
    tell(`open again after ${seconds(performance.now() - begun)}`);
    if (uses === 0) doze(); // those who asked have left
    return take(model);
  };

  const awake = (): Promise<M> => {
    if (current) return Promise.resolve(current);
    opening ??= wake().finally(() => (opening = null));
    return opening;
  };

  const sleep = async (): Promise<void> => {
    const model = current;
    if (!model) return;
    const told = await rest(model).catch(() => null); // it has ended
    if (!told || uses > 0 || current !== model || closing) return;
    current = null;
    left = told;
    gone = model.close().catch(() => {});
    tell(`closed after ${seconds(after)} without a request; the next one opens it again`);
  };

  const doze = (): void => {
    clearTimeout(timer);
    if (closing) return;
    timer = setTimeout(() => void sleep(), after);
    // Where timers are objects, one that waits would keep the process alive.
    if (typeof timer === 'object') timer.unref();
  };

  const begin = (): void => {
    if (closing) throw closedError();
    uses++;
    clearTimeout(timer);
  };

  const finish = (): void => {
    if (--uses === 0) doze();
  };

  const call =
    (name: keyof M): Method =>
    async (...given) => {
      const method = (model: Partial<M>): unknown => (model[name] as Method).apply(model, given);
      if (passive.includes(name)) {
        if (closing) throw closedError();
        return method(current ?? left?.answers ?? (await awake()));
      }
      begin();
      try {
        return await method(await awake());
      } finally {
        finish();
      }
    };

  async function* generate(
    request: never,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<unknown, void, void> {
    begin();
    try {
      if (current) yield* current.generate(request, options);
      else yield* generateOnceOpen(request, options);
    } finally {
      finish();
    }
  }

  async function* generateOnceOpen(
    request: never,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<unknown, void, void> {
    const place = lobby.enter(request);
    const opened = unlessAborted(awake, options?.signal).then((model) => ({ model, events: [] }));
    const over = place.ended.then((events) => ({ model: null, events }));
    let later: unknown;
    const { model, events } = await Promise.race([opened, over]).finally(() => (later = place.leave()));
    if (model) yield* model.generate(later as never, options);
    else yield* events;
  }

  const close = async (): Promise<void> => {
    clearTimeout(timer);
    leaving.abort();
    const model = current ?? (await opening?.catch(() => null));
    await model?.close();
    await gone;
    end(closedError());
  };
  const closeOnce = (): Promise<void> => (closing ??= close());

  const own = ['info', 'ended', 'asleep', 'generate', 'close'];
  const names = Object.keys(first).filter((name) => !own.includes(name)) as (keyof M & string)[];
  const face = {
    get info() {
      return info;
    },
    get asleep() {
      return current === null;
    },
    ended,
    generate,
    ...Object.fromEntries(names.map((name) => [name, call(name)])),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
  take(first);
  uses++;
  finish();
  return face as unknown as M;
}

/** Who leaves does not wait for what others may need. */
async function unlessAborted<T>(begin: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise: left, reject } = withResolvers<never>();
  const leave = (): void => reject(new EngineError('cancelled', 'the request was cancelled before it began'));
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race(signal?.aborted ? [left] : [begin(), left]);
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toPrecision(2))} s`;
}
