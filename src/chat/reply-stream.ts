// A reply that is being computed: its events can be read while it grows, and it can be awaited whole. It runs whether or not anybody reads.

import { badRequest } from '../files/error.ts';

/** Computes a reply; `emit` reports its events. */
export type Compute<Reply, Event> = (emit: (event: Event) => void, signal: AbortSignal) => Promise<Reply>;

export class ReplyStream<Reply, Event> implements AsyncIterable<Event>, PromiseLike<Reply> {
  readonly #events: Event[] = [];
  readonly #controller = new AbortController();
  readonly #reply: Promise<Reply>;
  #isOver = false;
  #wake = (): void => {};
  #changed!: Promise<void>;

  constructor(compute: Compute<Reply, Event>, signal?: AbortSignal) {
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw badRequest('signal is not an AbortSignal: give that of an AbortController', 'signal');
    this.#renew();
    const either = signal ? AbortSignal.any([signal, this.#controller.signal]) : this.#controller.signal;
    this.#reply = compute((event) => {
      this.#events.push(event);
      this.#renew();
    }, either).finally(() => {
      this.#isOver = true;
      this.#renew();
    });
    this.#reply.catch(() => {}); // a caller that only reads events gets the error there
  }

  #renew(): void {
    this.#wake();
    this.#changed = new Promise((resolve) => (this.#wake = resolve));
  }

  /** Ends the reply: its promise and its readers fail with `cancelled`. */
  abort(): void {
    this.#controller.abort();
  }

  /** The whole reply. Throws what the computation throws. */
  result(): Promise<Reply> {
    return this.#reply;
  }

  /** Awaits the whole reply: `await session.send(…)`. */
  // oxlint-disable-next-line unicorn/no-thenable -- a reply can be awaited
  then<A = Reply, B = never>(
    onReply?: ((reply: Reply) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#reply.then(onReply, onError);
  }

  /** All events from the first on. A reader that leaves before the end aborts the reply, and waits until it has ended. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, void> {
    let isWhole = false;
    try {
      for (let at = 0; ;) {
        while (at < this.#events.length) yield this.#events[at++]!;
        if (this.#isOver) break;
        await this.#changed;
      }
      isWhole = true;
      await this.#reply;
    } finally {
      if (!isWhole) {
        this.abort();
        await this.#reply.catch(() => {});
      }
    }
  }
}
