// Ordered searches of what fits the memory of a device.

import { EngineError } from '../../files/error.ts';

/** Returns what `open` returns; null if it throws out_of_memory, an error that `onTooSmall` receives. */
export async function withinBudget<T>(
  open: () => Promise<T>,
  onTooSmall: (error: EngineError) => void = () => {},
): Promise<T | null> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'out_of_memory')) throw error;
    onTooSmall(error);
    return null;
  }
}

/** Returns the first result that is not null, of candidates in the order of their preference; null: no candidate fits. */
export async function firstFitting<C, T>(
  candidates: Iterable<C> | AsyncIterable<C>,
  open: (candidate: C) => Promise<T | null>,
): Promise<T | null> {
  for await (const candidate of candidates) {
    const opened = await open(candidate);
    if (opened !== null) return opened;
  }
  return null;
}
