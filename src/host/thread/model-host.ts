// The engine's side of a model in a thread: opens the model and answers the messages of its proxy.

import { callByName, type AnyModel, type Calls } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Port } from '../../engine/platform/port.ts';
import { toWire } from '../../engine/platform/wire-error.ts';
import type { CallMessage, GenerateMessage, ToHost, ToProxy } from './wire-messages.ts';

export interface HostedModel<Options, M> {
  calls: Calls<M>;
  /** Opens the model; an abort of `signal` cancels that. */
  open(options: Options, onEvent: (event: OpenEvent) => void, signal: AbortSignal): Promise<M>;
  /** Releases the devices at once, whatever the model is doing. */
  release(): void;
  /** Waits for what the device still owes after its release. Left out: the thread may end at any time. */
  settle?(): Promise<void>;
}

export class ModelHost<Options, M extends AnyModel> {
  readonly #port: Port;
  readonly #hosted: HostedModel<Options, M>;
  /** Requests in progress and calls that can be cancelled, by id. */
  readonly #running = new Map<number, AbortController>();
  readonly #leaving = new AbortController();
  #model: M | null = null;
  #opening: Promise<void> = Promise.resolve();

  constructor(port: Port, hosted: HostedModel<Options, M>) {
    this.#port = port;
    this.#hosted = hosted;
    port.onMessage((message) => this.#receive(message as ToHost));
  }

  /** Reports an uncaught error. The thread may end once the promise has settled. */
  fail(error: unknown): Promise<void> {
    this.#post({ type: 'lost', error: toWire(error) });
    return this.#leave();
  }

  #receive(message: ToHost): void {
    switch (message.type) {
      case 'open':
        this.#opening = this.#open(message.options as Options);
        return;
      case 'generate':
        return void this.#generate(message);
      case 'abort':
        return this.#running.get(message.id)?.abort();
      case 'call':
        return void this.#call(message);
      case 'leave':
        return void this.#leave().finally(() => this.#confirmLeft(message.done));
    }
  }

  #post(message: ToProxy): void {
    this.#port.post(message);
  }

  async #open(options: Options): Promise<void> {
    const onEvent = (event: OpenEvent): void => this.#post({ type: 'opening', event });
    try {
      this.#model = await this.#hosted.open(options, onEvent, this.#leaving.signal);
      this.#post({ type: 'opened', info: this.#model.info });
    } catch (error) {
      this.#post({ type: 'failed', error: toWire(error) });
    }
  }

  async #generate({ id, request, more }: GenerateMessage): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const events = this.#model!.generate(request as never, { ...more, signal: controller.signal });
      for await (const event of events) this.#post({ type: 'event', id, event });
      this.#post({ type: 'end', id, error: null });
    } catch (error) {
      this.#post({ type: 'end', id, error: toWire(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  async #call({ id, method, given, cancellable }: CallMessage): Promise<void> {
    const controller = new AbortController();
    if (cancellable !== null) this.#running.set(id, controller);
    const { signal } = controller;
    const whole = given.map((one, at) => (at === cancellable ? { ...(one as object), signal } : one));
    try {
      this.#post({ type: 'result', id, value: await this.#answer(method, whole), error: null });
    } catch (error) {
      this.#post({ type: 'result', id, value: null, error: toWire(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  async #answer(method: string, given: readonly unknown[]): Promise<unknown> {
    if (method === 'close') {
      await this.#model!.close();
      return this.#hosted.settle?.();
    }
    if (!(method in this.#hosted.calls)) throw new Error(`a model in a thread has no method ${method}`);
    return callByName(this.#model!, method, given);
  }

  /** Releases everything; requests and an opening in progress fail. */
  async #leave(): Promise<void> {
    this.#leaving.abort();
    this.#hosted.release();
    await this.#opening;
    await this.#model?.close();
    await this.#hosted.settle?.();
  }

  #confirmLeft(done: Int32Array | null): void {
    if (done === null) return this.#post({ type: 'left' });
    Atomics.store(done, 0, 1);
    Atomics.notify(done, 0);
  }
}

/** Blocks the caller's thread until the host has released its device, for at most `milliseconds`. Returns false where it has not. */
export function waitUntilReleased(port: Port, milliseconds: number): boolean {
  const done = new Int32Array(new SharedArrayBuffer(4));
  port.post({ type: 'leave', done } satisfies ToHost);
  return Atomics.wait(done, 0, 0, milliseconds) !== 'timed-out';
}
