// Events from the engine's clock to one reader, in order; an error ends them after what came before it. A reader who falls
// behind gets fewer and larger ones.

export interface EventQueue<T> {
  push(event: T): void;
  fail(error: Error): void;
  close(): void;
  /** Ends when closed and drained. */
  read(): AsyncGenerator<T, void, void>;
}

/** Joins two events: the result is one for both; null: they stay apart; undefined: an event before `before` may be joined with `next`. */
export type Merge<T> = (before: T, next: T) => T | null | undefined;

/** Merge of events of any kind of model. */
export type AnyMerge = (before: never, next: never) => unknown;

/** Events that wait unmerged. */
const LOOSE = 64;
/** How far back an event is looked for that the next one could go on. */
const LOOK_BACK = 256;

export function createEventQueue<T>(merge: Merge<T> = () => null): EventQueue<T> {
  const events: T[] = [];
  let ended = false;
  let error: Error | null = null;
  let wake: (() => void) | null = null;
  const stir = (): void => {
    wake?.();
    wake = null;
  };
  const mergeIn = (event: T): boolean => {
    if (events.length < LOOSE) return false;
    const least = Math.max(0, events.length - LOOK_BACK);
    for (let at = events.length - 1; at >= least; at--) {
      const merged = merge(events[at]!, event);
      if (merged === null) return false;
      if (merged === undefined) continue;
      events[at] = merged;
      return true;
    }
    return false;
  };
  return {
    push(event) {
      if (!mergeIn(event)) events.push(event);
      stir();
    },
    fail(cause) {
      error ??= cause;
      ended = true;
      stir();
    },
    close() {
      ended = true;
      stir();
    },
    async *read() {
      for (;;) {
        const event = events.shift();
        if (event !== undefined) {
          yield event;
        } else if (ended) {
          if (error) throw error;
          return;
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    },
  };
}
