// Ctrl-C: the first signal aborts the run, the second one ends the process at once.

import { EngineError } from '../../files/error.ts';
import { endBy } from '../../server/entry.ts';

export type Interrupt = ReturnType<typeof untilInterrupted>;

/** Listens for SIGINT and SIGTERM until `end` is called. */
export function untilInterrupted() {
  const controller = new AbortController();
  const { signal } = controller;
  const interrupt = (received: NodeJS.Signals) => {
    if (signal.aborted) return endBy(received === 'SIGTERM' ? 'SIGTERM' : 'SIGINT');
    controller.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new EngineError('cancelled', 'interrupted')), {
      once: true,
    });
  });
  interrupted.catch(() => {});
  return {
    signal,
    /** Returns the result of `waited`; rejects as soon as the user interrupts. */
    orInterrupted: <T>(waited: Promise<T>): Promise<T> => Promise.race([waited, interrupted]),
    end: () => void process.off('SIGINT', interrupt).off('SIGTERM', interrupt),
  };
}
