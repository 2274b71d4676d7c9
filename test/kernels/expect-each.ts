// Checks for loops over many values: a call of `expect` takes 20 µs, so only a value that fails makes one.

import { expect } from 'vitest';

/** `value < limit` */
export function expectBelow(value: number, limit: number): void {
  if (!(value < limit)) expect(value).toBeLessThan(limit);
}

/** The values are equal to so many digits behind the point. */
export function expectCloseTo(value: number | undefined, wanted: number, digits: number): void {
  if (!(Math.abs(value! - wanted) < 0.5 * 10 ** -digits)) expect(value).toBeCloseTo(wanted, digits);
}
