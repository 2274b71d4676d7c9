// Does the work of a processor piece by piece, so that steps of other requests are recorded in between, and a request that leaves ends it.

import type { PreparedMedium, Preparation } from '../../../models/media.ts';

/** Milliseconds after which other work runs. */
const TURN = 5;

/** `plan` is called with the number of rows before they are computed. Throws what it throws, and the signal's reason. */
export async function prepareInTurns(
  work: Preparation,
  plan: (rows: number) => void,
  signal: AbortSignal,
): Promise<PreparedMedium> {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (typeof value === 'number') plan(value);
    if (performance.now() - began < TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    began = performance.now();
  }
}
