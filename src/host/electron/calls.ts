// Calls over a port, in both directions: each side answers the other's calls by name. Arguments and results are plain data.

import { fromWire, toWire, type WireError } from '../../engine/platform/wire-error.ts';
import type { Port } from '../../engine/platform/port.ts';

type Method = (...given: never[]) => Promise<unknown>;
/** Methods by their names. */
type Methods<T> = { readonly [Name in keyof T]: Method };

type CallMessage =
  | { type: 'call'; id: number; name: string; given: readonly unknown[] }
  | { type: 'result'; id: number; value: unknown; error: WireError | null };

export class WireCalls<Theirs extends Methods<Theirs>> {
  readonly #port: Port;
  readonly #answers: Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #nextId = 0;
  /** The reason why the other side no longer answers. */
  #gone: Error | null = null;

  constructor(port: Port, answers: object) {
    this.#port = port;
    this.#answers = answers as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;
    port.onMessage((message) => this.#receive(message as CallMessage));
    port.onLost((reason) => this.fail(reason));
  }

  /** Calls a method of the other side. Throws its errors. */
  call<Name extends keyof Theirs & string>(
    name: Name,
    ...given: Parameters<Theirs[Name]>
  ): ReturnType<Theirs[Name]> {
    return this.#call(name, given) as ReturnType<Theirs[Name]>;
  }

  /** Fails all calls in progress and all later ones. */
  fail(reason: Error): void {
    this.#gone ??= reason;
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #call(name: string, given: readonly unknown[]): Promise<unknown> {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#post({ type: 'call', id, name, given });
    });
  }

  #post(message: CallMessage): void {
    this.#port.post(message);
  }

  #receive(message: CallMessage): void {
    if (message.type === 'call') return void this.#answer(message);
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error) pending?.reject(fromWire(message.error));
    else pending?.resolve(message.value);
  }

  async #answer({ id, name, given }: Extract<CallMessage, { type: 'call' }>): Promise<void> {
    try {
      if (!Object.hasOwn(this.#answers, name)) throw new Error(`there is no call ${name}`);
      const value = await this.#answers[name]!(...given);
      this.#post({ type: 'result', id, value, error: null });
    } catch (error) {
      this.#post({ type: 'result', id, value: null, error: toWire(error) });
    }
  }
}
