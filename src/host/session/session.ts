// The life cycle of a resource that can go and come back: a model's parts on a device, which may be lost, or a whole model, which
// may be put to sleep. It is opened once for all callers that wait, released exactly once, and ends for good when it is closed.

import { closedError } from '../../engine/async/cancelled.ts';
import { withResolvers } from '../../engine/async/resolvers.ts';

/**
 * opening → ready → asleep or lost → opening → …, and any of them → closed. A failed opening returns to the state before it; if the
 * first one fails, the state is closed.
 */
export type SessionState = 'opening' | 'ready' | 'asleep' | 'lost' | 'closed';

export interface SessionSource<R> {
  /**
   * Opens the resource. `before` is the one that it replaces, already released; `signal` aborts when the session is closed
   * meanwhile.
   */
  open(signal: AbortSignal, before: R | null): Promise<R>;
  /** Releases the resource. */
  close(resource: R): Promise<void>;
  /** Resolves with the reason when the resource has ended by itself for good; the session is then closed. */
  ended?(resource: R): Promise<Error>;
}

export class Session<R> {
  /** Resolves with the reason once the session is closed and everything is released. */
  readonly ended: Promise<Error>;
  readonly #source: SessionSource<R>;
  readonly #leaving = new AbortController();
  readonly #resolveEnded: (reason: Error) => void;
  #state: SessionState = 'opening';
  #latest: R | null;
  /** Whether the latest resource has not been released yet. */
  #holds: boolean;
  #opening: Promise<R> | null = null;
  #released: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  /** The reason why the session is closed. */
  #reason: Error | null = null;

  /** `first`: the resource, if it is open already. */
  constructor(source: SessionSource<R>, first: R | null = null) {
    const { promise, resolve } = withResolvers<Error>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    this.#source = source;
    this.#latest = first;
    this.#holds = first !== null;
    if (first !== null) this.#begin(first);
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The resource that was opened last: the current one in state ready, otherwise the one that is gone. */
  get latest(): R {
    if (this.#latest === null) throw new Error('nothing was opened in this session yet');
    return this.#latest;
  }

  /** Throws the reason if the session is closed. */
  assertOpen(): void {
    if (this.#reason) throw this.#reason;
  }

  /** Returns the resource; if necessary it is opened, once for all callers that wait. Throws the errors of opening. */
  async ready(): Promise<R> {
    this.assertOpen();
    if (this.#state === 'ready') return this.latest;
    this.#opening ??= this.#open(this.#state).finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #open(before: SessionState): Promise<R> {
    this.#state = 'opening';
    try {
      await this.#drop();
      this.assertOpen();
      const resource = await this.#source.open(this.#leaving.signal, this.#latest);
      this.#latest = resource;
      this.#holds = true;
      this.assertOpen();
      this.#begin(resource);
      return resource;
    } catch (error) {
      if (this.#reason) throw this.#reason;
      this.#state = before === 'opening' ? 'closed' : before;
      if (this.#state === 'closed') this.#reason = closedError();
      throw error;
    }
  }

  #begin(resource: R): void {
    this.#state = 'ready';
    void this.#source.ended?.(resource).then((reason) => {
      if (this.#state === 'ready' && this.#latest === resource) this.#end(reason);
    });
  }

  /** Marks the resource as lost. It is released when it is opened again or the session is closed. */
  lose(): void {
    if (this.#state === 'ready') this.#state = 'lost';
  }

  /** Closes the resource; the next use opens it again. Errors while closing are ignored. */
  sleep(): void {
    if (this.#state !== 'ready') return;
    this.#state = 'asleep';
    void this.#drop();
  }

  #end(reason: Error): void {
    this.#reason = reason;
    this.#state = 'closed';
    this.#resolveEnded(reason);
  }

  /** Closes the session once, whatever its state: no further opening begins, and `giveBack` then ends what uses the resource. */
  close(giveBack: () => Promise<void> = () => this.release()): Promise<void> {
    return (this.#closing ??= this.#close(giveBack));
  }

  async #close(giveBack: () => Promise<void>): Promise<void> {
    this.#reason ??= closedError();
    this.#state = 'closed';
    this.#leaving.abort();
    try {
      await giveBack();
    } finally {
      this.#resolveEnded(closedError());
    }
  }

  /** Releases the resource of a closed session, and that of an opening that is still in progress. */
  async release(): Promise<void> {
    await this.#opening?.catch(() => null);
    await this.#releaseLatest();
  }

  /** Releases the resource; errors are ignored, because a lost resource often throws. */
  #drop(): Promise<void> {
    return (this.#released = this.#releaseLatest().catch(() => {}));
  }

  #releaseLatest(): Promise<void> {
    if (this.#holds) {
      this.#holds = false;
      this.#released = this.#source.close(this.latest);
    }
    return this.#released;
  }
}
