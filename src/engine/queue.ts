// Events from the engine's clock to one reader, in order; an error ends them after what came before it.

export interface EventQueue<T> {
  push(event: T): void;
  fail(error: Error): void;
  close(): void;
  /** Ends when closed and drained. */
  read(): AsyncGenerator<T, void, void>;
}

export function createEventQueue<T>(): EventQueue<T> {
  const events: T[] = [];
  let ended = false;
  let error: Error | null = null;
  let wake: (() => void) | null = null;
  const stir = (): void => {
    wake?.();
    wake = null;
  };
  return {
    push(event) {
      events.push(event);
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
