// The work of a processor in pieces, between which an engine lets other work run, checks what is planned, and may stop.

import type { PreparedMedium } from './media.ts';

/** Yields the number of rows that the medium takes before their values are computed, then nothing between pieces; returns the medium. */
export type Preparation = Generator<number | void, PreparedMedium, void>;

/** Does all pieces at once. */
export function finished<T>(work: Generator<unknown, T, void>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
