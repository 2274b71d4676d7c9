// Openings that a memory budget may be too small for.

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
