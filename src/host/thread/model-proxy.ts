// The caller's side of a model in a thread: every request and call is a message to the host, and the answers are messages.

import { cancelled, onAbort } from '../../engine/async/abort-listeners.ts';
import { closedError, openingCancelled } from '../../engine/async/cancelled.ts';
import { withResolvers, type PromiseWithResolvers } from '../../engine/async/resolvers.ts';
import { EventQueue, type AnyMerge, type Merge } from '../../engine/async/event-queue.ts';
import { modelObject, type AnyModel, type Calls } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Port } from '../../engine/platform/port.ts';
import { fromWire, notData, type WireError } from '../../engine/platform/wire-error.ts';
import type { ToHost, ToProxy } from './wire-messages.ts';

/** Milliseconds that a failed thread has to end by itself. */
const END_TIME = 10_000;

export interface ProxyOptions {
  /** Options of the model. */
  options: unknown;
  onEvent(event: OpenEvent): void;
  /** Called when the thread is no longer needed. */
  onClosed(): Promise<void>;
  /** Cancels the opening when it aborts. */
  signal?: AbortSignal | undefined;
  /** Merges events of a reader that falls behind. */
  merge?: AnyMerge | undefined;
  /** Milliseconds after which a thread whose opening was cancelled is terminated. Left out: it ends by itself. */
  leaveTime?: number;
}

/** Opens a model on the other side of a port. */
export async function openProxy<M extends AnyModel>(
  port: Port,
  calls: Calls<M>,
  options: ProxyOptions,
): Promise<M> {
  const proxy = new ModelProxy(port, options);
  await proxy.opened;
  return modelObject(proxy, calls, (name, given) => proxy.call(name, given));
}

class ModelProxy {
  readonly asleep = false;
  readonly #port: Port;
  readonly #options: ProxyOptions;
  readonly #opened = withResolvers<void>();
  readonly #ended = withResolvers<Error>();
  readonly #streams = new Map<number, EventQueue<unknown>>();
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #info: unknown;
  #isOpening = true;
  /** The reason why the host no longer answers. */
  #gone: Error | null = null;
  #closing: Promise<void> | null = null;
  #nextId = 0;
  readonly #stopListening: () => void;
  /** Terminates a failed thread that does not end by itself. */
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(port: Port, options: ProxyOptions) {
    this.#port = port;
    this.#options = options;
    port.onMessage((message) => this.#receive(message as ToProxy));
    this.#hold();
    this.#post({ type: 'open', options: options.options });
    port.onLost((reason) => {
      clearTimeout(this.#endTimer);
      this.#leave(reason);
    });
    this.#stopListening = onAbort(options.signal, this.#giveUp);
    if (options.signal?.aborted) this.#giveUp();
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get info(): unknown {
    return this.#info;
  }

  get ended(): Promise<Error> {
    return this.#ended.promise;
  }

  /** The signal of an argument, if one has any, aborts the call. */
  async call(method: string, given: readonly unknown[]): Promise<unknown> {
    if (this.#gone) throw this.#gone;
    const { data, cancellable, signal } = withoutSignal(given);
    if (signal?.aborted) throw cancelled();
    const id = this.#nextId++;
    const pending = withResolvers<unknown>();
    this.#calls.set(id, pending);
    this.#hold();
    const stopListening = onAbort(signal, () => this.#post({ type: 'abort', id }));
    try {
      this.#post({ type: 'call', id, method, given: data, cancellable });
    } catch (cause) {
      this.#calls.delete(id);
      this.#hold();
      pending.reject(notData(cause));
    }
    return pending.promise.finally(stopListening);
  }

  async *generate(
    request: unknown,
    { signal, ...more }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<unknown, void, void> {
    if (this.#gone) throw this.#gone;
    if (signal?.aborted) throw cancelled();
    const id = this.#nextId++;
    const events = new EventQueue<unknown>(this.#options.merge as Merge<unknown> | undefined);
    const abort = (): void => this.#post({ type: 'abort', id });
    this.#streams.set(id, events);
    this.#hold();
    const stopListening = onAbort(signal, abort);
    try {
      this.#postRequest(id, request, more);
      yield* events.read();
    } finally {
      stopListening();
      if (this.#streams.delete(id)) abort(); // the reader has left before the end
      this.#hold();
    }
  }

  close(): Promise<void> {
    if (this.#gone) return Promise.resolve();
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    try {
      await this.call('close', []);
    } catch (error) {
      if (!this.#gone) throw error; // a thread that has ended needs no closing
    } finally {
      this.#leave(closedError());
      await this.#options.onClosed();
    }
  }

  #post(message: ToHost): void {
    this.#port.post(message);
  }

  #postRequest(id: number, request: unknown, more: object): void {
    try {
      this.#post({ type: 'generate', id, request, more });
    } catch (cause) {
      this.#streams.delete(id);
      throw notData(cause);
    }
  }

  /** The thread keeps the process alive only while a request or call waits for it. */
  #hold(): void {
    this.#port.hold?.(this.#isOpening || this.#streams.size + this.#calls.size > 0);
  }

  readonly #giveUp = (): void => {
    this.#post({ type: 'leave', done: null });
    const { leaveTime, onClosed } = this.#options;
    if (leaveTime !== undefined) this.#endTimer = setTimeout(() => void onClosed(), leaveTime);
    this.#leave(openingCancelled());
  };

  /** Called when the host no longer answers: everything that waits for it fails. */
  #leave(reason: Error): void {
    if (this.#gone) return;
    this.#gone = reason;
    this.#opened.reject(reason);
    this.#ended.resolve(reason);
    for (const events of this.#streams.values()) events.fail(reason);
    for (const pending of this.#calls.values()) pending.reject(reason);
    this.#streams.clear();
    this.#calls.clear();
    this.#isOpening = false;
    this.#hold();
  }

  #receive(message: ToProxy): void {
    switch (message.type) {
      case 'opening':
        return this.#options.onEvent(message.event);
      case 'opened':
        this.#info = message.info;
        this.#endOpening();
        return this.#opened.resolve();
      case 'failed':
        return this.#failOpening(message.error);
      case 'left':
        clearTimeout(this.#endTimer);
        return void this.#options.onClosed();
      case 'lost':
        this.#endTimer = setTimeout(() => void this.#options.onClosed(), END_TIME);
        return this.#leave(fromWire(message.error));
      case 'event':
        return this.#streams.get(message.id)?.push(message.event);
      case 'end':
        return this.#endStream(message.id, message.error);
      case 'result': {
        const pending = this.#calls.get(message.id);
        this.#calls.delete(message.id);
        this.#hold();
        return message.error ? pending?.reject(fromWire(message.error)) : pending?.resolve(message.value);
      }
    }
  }

  #endOpening(): void {
    this.#stopListening();
    this.#isOpening = false;
    this.#hold();
  }

  #failOpening(error: WireError): void {
    const isGivenUp = this.#gone !== null;
    this.#endOpening();
    this.#opened.reject(fromWire(error));
    // The last step, because terminating a thread blocks the process until it has ended.
    if (!isGivenUp) void this.#options.onClosed();
  }

  #endStream(id: number, error: WireError | null): void {
    const events = this.#streams.get(id);
    this.#streams.delete(id);
    this.#hold();
    if (error) events?.fail(fromWire(error));
    else events?.close();
  }
}

/** Takes the signal out of the arguments of a call, since no message holds one. */
function withoutSignal(given: readonly unknown[]): {
  data: readonly unknown[];
  cancellable: number | null;
  signal: AbortSignal | undefined;
} {
  const at = given.findIndex(hasSignal);
  if (at < 0) return { data: given, cancellable: null, signal: undefined };
  const { signal, ...rest } = given[at] as { signal: AbortSignal };
  return { data: given.with(at, rest), cancellable: at, signal };
}

const hasSignal = (one: unknown): boolean =>
  typeof one === 'object' && one !== null && 'signal' in one && one.signal instanceof AbortSignal;
