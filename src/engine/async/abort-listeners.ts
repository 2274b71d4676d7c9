// Listeners for the abort of a signal that many requests share: they count as one listener of the signal, since Node warns of a leak
// from the eleventh on.

import { EngineError } from '../../files/error.ts';
import { withResolvers } from './resolvers.ts';

const LISTENERS = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `listener` once when `signal` aborts; does nothing for a signal that has aborted already. Returns the removal of the listener. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined || signal.aborted) return () => {};
  let listeners = LISTENERS.get(signal);
  if (listeners === undefined) {
    const all = (listeners = new Set());
    LISTENERS.set(signal, all);
    signal.addEventListener('abort', () => all.forEach((one) => one()), { once: true });
  }
  // A function of its own, because a caller may pass one listener several times.
  const own = (): void => listener();
  listeners.add(own);
  return () => void listeners.delete(own);
}

/** The error for a request that is aborted before it has begun. */
export function cancelled(): EngineError {
  return new EngineError('cancelled', 'the request was cancelled before it began');
}

/** Begins to wait for work that others wait for too. A caller that aborts gets `reason` at once, and the work continues. */
export async function unlessAborted<T>(
  begin: () => Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => Error = cancelled,
): Promise<T> {
  if (signal?.aborted) throw reason();
  const { promise: left, reject } = withResolvers<never>();
  const stopListening = onAbort(signal, () => reject(reason()));
  return Promise.race([begin(), left]).finally(stopListening);
}
