// A queue of events from the engine to one reader, in order. An error is thrown after the events that precede it. A reader that
// falls behind gets fewer and larger events.

/**
 * Merges two events: returns one event for both; null if they must stay separate; undefined if an event before `before` may be
 * merged with `next`.
 */
export type Merge<T> = (before: T, next: T) => T | null | undefined;

/** Merge function for the events of any kind of model. */
export type AnyMerge = (before: never, next: never) => unknown;

/** Number of queued events up to which none are merged. */
const UNMERGED = 64;
/** Number of the latest events that are searched for one to merge with. */
const LOOK_BACK = 256;

/** `push`, `fail` and `close` are bound, so that they can be passed as callbacks. */
export class EventQueue<T> {
  readonly #merge: Merge<T>;
  readonly #events: T[] = [];
  #ended = false;
  #error: Error | null = null;
  /** Wakes the reader that waits for an event. */
  #wake: () => void = () => {};

  constructor(merge: Merge<T> = () => null) {
    this.#merge = merge;
  }

  readonly push = (event: T): void => {
    if (!this.#mergeIn(event)) this.#events.push(event);
    this.#wake();
  };

  /** Ends the queue with an error; only the first error counts. */
  readonly fail = (error: Error): void => {
    this.#error ??= error;
    this.close();
  };

  readonly close = (): void => {
    this.#ended = true;
    this.#wake();
  };

  /** Ends once the queue is closed and empty. */
  async *read(): AsyncGenerator<T, void, void> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        yield event;
      } else if (this.#ended) {
        if (this.#error) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  #mergeIn(event: T): boolean {
    const events = this.#events;
    if (events.length < UNMERGED) return false;
    const least = Math.max(0, events.length - LOOK_BACK);
    for (let at = events.length - 1; at >= least; at--) {
      const merged = this.#merge(events[at]!, event);
      if (merged === null) return false;
      if (merged === undefined) continue;
      events[at] = merged;
      return true;
    }
    return false;
  }
}
