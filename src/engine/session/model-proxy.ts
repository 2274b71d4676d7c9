// A model in another thread: its face over plain messages, whatever it makes. `serveModel` is the far side's end, `connectModel`
// the near side's; a port is anything that posts and receives.

import { EngineError } from '../../files/error.ts';
import { createEventQueue, type EventQueue, type Merge } from './event-queue.ts';
import { withResolvers, type PromiseWithResolvers } from '../resolvers.ts';
import type { OpenEvent } from './open-event.ts';
import { fromWire, notData, toWire } from './wire-error.ts';
import type { CallMessage, GenerateMessage, ToFarSide, ToNearSide } from './wire-messages.ts';

export interface Port {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** The other side is gone. */
  onLost(listener: (error: Error) => void): void;
  /** Whether something waits on the other side: while nothing does, it does not keep the process alive. */
  hold?(waits: boolean): void;
  /** Ends the other side at once, in the middle of what it does. */
  end?(): void;
}

/** What all models have in common. `More` is what a generation is told beside its request. */
export interface Model<Info, Request, Event, More = object> {
  readonly info: Info;
  /** Resolves with the reason once the model answers no more: it was closed, or the thread it ran in has ended. */
  readonly ended: Promise<Error>;
  readonly asleep: boolean;
  /** Throws EngineError. */
  generate(request: Request, options?: More & { signal?: AbortSignal }): AsyncGenerator<Event, void, void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Calls that answer once, by name. */
export type Calls<M> = Readonly<Record<string, (model: M, argument: never) => Promise<unknown>>>;

/** Milliseconds in which a thread that has failed ends by itself. */
const LOST_TIME = 10_000;

/** What a closed model says. */
export function closedError(): EngineError {
  return new EngineError('cancelled', 'the model is closed: open it again');
}

export interface Serving<Options, M> {
  /** `signal` ends what can be ended early. */
  open(options: Options, onEvent: (event: OpenEvent) => void, signal: AbortSignal): Promise<M>;
  calls: Calls<M>;
  /** Lets go of the devices, whatever the model is doing. */
  release(): void;
}

/**
 * Serves one model to the other side of a port. What comes back is for an error nobody caught: the other side is told, and
 * the thread may end once the promise is settled.
 */
export function serveModel<Options, Request, M extends Model<unknown, Request, unknown>>(
  port: Port,
  { open, calls, release }: Serving<Options, M>,
): (error: unknown) => Promise<void> {
  const post = (message: ToNearSide): void => port.post(message);
  const aborts = new Map<number, AbortController>();
  let model: M | null = null;
  const leaving = new AbortController();
  let opening = Promise.resolve();

  const leave = async (): Promise<void> => {
    leaving.abort();
    release();
    await opening;
    await model?.close();
  };

  const generate = async (served: M, { id, request, more }: GenerateMessage): Promise<void> => {
    const controller = new AbortController();
    aborts.set(id, controller);
    try {
      for await (const event of served.generate(request as Request, { ...more, signal: controller.signal }))
        post({ type: 'event', id, event });
      post({ type: 'end', id, error: null });
    } catch (error) {
      post({ type: 'end', id, error: toWire(error) });
    } finally {
      aborts.delete(id);
    }
  };

  const answer = async (served: M, { method, argument }: CallMessage): Promise<unknown> =>
    method === 'close' ? served.close() : calls[method]!(served, argument as never);

  port.onMessage((received) => {
    const message = received as ToFarSide;
    if (message.type === 'open') {
      opening = open(
        message.options as Options,
        (event) => post({ type: 'opening', event }),
        leaving.signal,
      ).then(
        (opened) => {
          model = opened;
          post({ type: 'opened', info: opened.info });
        },
        (error: unknown) => post({ type: 'failed', error: toWire(error) }),
      );
    } else if (message.type === 'abort') {
      aborts.get(message.id)?.abort();
    } else if (message.type === 'leave') {
      const { done } = message;
      void leave().finally(() => {
        if (done === null) return post({ type: 'left' });
        Atomics.store(done, 0, 1);
        Atomics.notify(done, 0);
      });
    } else if (message.type === 'generate') {
      void generate(model!, message);
    } else {
      const { id } = message;
      answer(model!, message).then(
        (value) => post({ type: 'result', id, value, error: null }),
        (error: unknown) => post({ type: 'result', id, value: null, error: toWire(error) }),
      );
    }
  });
  return (error) => {
    post({ type: 'lost', error: toWire(error) });
    return leave();
  };
}

/** Blocks this thread until the far side holds no device any more, or for so many milliseconds. */
export function waitUntilReleased(port: Port, milliseconds: number): void {
  const done = new Int32Array(new SharedArrayBuffer(4));
  port.post({ type: 'leave', done } satisfies ToFarSide);
  Atomics.wait(done, 0, 0, milliseconds);
}

/** Calls a method of `Calls` on the far side. */
export type Invoke = <T>(method: string, argument?: unknown) => Promise<T>;

/**
 * Opens a model on the other side of a port. `onClosed` runs when it is closed; `face` adds the calls it answers; `signal`
 * gives the opening up; `merge` joins events of a reader who falls behind.
 */
export function connectModel<Info, Request, Event, M extends Model<Info, Request, Event>>(
  port: Port,
  options: unknown,
  onEvent: (event: OpenEvent) => void,
  onClosed: () => Promise<void>,
  face: (model: Model<Info, Request, Event>, invoke: Invoke) => M,
  { signal, merge }: { signal?: AbortSignal | undefined; merge?: Merge<Event> } = {},
): Promise<M> {
  const post = (message: ToFarSide): void => port.post(message);
  const streams = new Map<number, EventQueue<Event>>();
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  const opening = withResolvers<M>();
  const ended = withResolvers<Error>();
  let gone: Error | null = null;
  let closing: Promise<void> | null = null;
  let nextId = 0;
  let isOpening = true;
  let ending: ReturnType<typeof setTimeout> | undefined;

  const hold = (): void => port.hold?.(isOpening || streams.size + calls.size > 0);

  /** The far side answers nothing any more: everything that waits on it fails. */
  const leave = (reason: Error): void => {
    if (gone) return;
    gone = reason;
    opening.reject(reason);
    ended.resolve(reason);
    for (const queue of streams.values()) queue.fail(reason);
    for (const pending of calls.values()) pending.reject(reason);
    streams.clear();
    calls.clear();
    isOpening = false;
    hold();
  };

  const giveUp = (): void => {
    post({ type: 'leave', done: null });
    leave(new EngineError('cancelled', 'opening the model was cancelled'));
  };

  const close = async (): Promise<void> => {
    try {
      await invoke('close');
    } catch (error) {
      if (!gone) throw error; // a thread that has ended needs no closing
    } finally {
      leave(closedError());
      await onClosed();
    }
  };

  const invoke: Invoke = <T>(method: string, argument?: unknown): Promise<T> => {
    if (gone) return Promise.reject(gone);
    const id = nextId++;
    const pending = withResolvers<unknown>();
    calls.set(id, pending);
    hold();
    try {
      post({ type: 'call', id, method, argument });
    } catch (cause) {
      calls.delete(id);
      hold();
      pending.reject(notData(cause));
    }
    return pending.promise as Promise<T>;
  };

  async function* generate(
    request: Request,
    { signal, ...more }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<Event, void, void> {
    if (gone) throw gone;
    if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
    const id = nextId++;
    const queue = createEventQueue<Event>(merge);
    const abort = (): void => post({ type: 'abort', id });
    streams.set(id, queue);
    hold();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      post({ type: 'generate', id, request, more });
    } catch (cause) {
      streams.delete(id);
      hold();
      signal?.removeEventListener('abort', abort);
      throw notData(cause);
    }
    try {
      yield* queue.read();
    } finally {
      signal?.removeEventListener('abort', abort);
      if (streams.delete(id)) abort();
      hold();
    }
  }

  const open = (info: Info): M => {
    const closeOnce = (): Promise<void> => (gone ? Promise.resolve() : (closing ??= close()));
    const model = { info, ended: ended.promise, asleep: false, generate, close: closeOnce };
    return face({ ...model, [Symbol.asyncDispose]: closeOnce }, invoke);
  };

  const opened = (settle: () => void): void => {
    signal?.removeEventListener('abort', giveUp);
    isOpening = false;
    hold();
    settle();
  };

  port.onMessage((received) => {
    const message = received as ToNearSide;
    switch (message.type) {
      case 'opening':
        return onEvent(message.event);
      case 'opened':
        return opened(() => opening.resolve(open(message.info as Info)));
      case 'failed': {
        const ends = !gone;
        opened(() => opening.reject(fromWire(message.error)));
        // Last, since ending a thread holds the process until it has ended.
        if (ends) void onClosed();
        return;
      }
      case 'left':
        return void onClosed();
      case 'lost':
        ending = setTimeout(() => void onClosed(), LOST_TIME);
        return leave(fromWire(message.error));
      case 'event':
        return streams.get(message.id)?.push(message.event as Event);
      case 'end': {
        const queue = streams.get(message.id);
        streams.delete(message.id);
        hold();
        return message.error ? queue?.fail(fromWire(message.error)) : queue?.close();
      }
      case 'result': {
        const pending = calls.get(message.id);
        calls.delete(message.id);
        hold();
        return message.error ? pending?.reject(fromWire(message.error)) : pending?.resolve(message.value);
      }
    }
  });
  hold();
  post({ type: 'open', options });
  port.onLost((reason) => {
    clearTimeout(ending);
    leave(reason);
  });
  signal?.addEventListener('abort', giveUp, { once: true });
  if (signal?.aborted) giveUp();
  return opening.promise;
}
