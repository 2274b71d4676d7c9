// Chooses the fastest variant of a kernel from its measured times. Clocks of GPUs count nanoseconds; browsers round timestamps, Chromium to
// 100 µs, so that a dispatch takes 0 or 100 µs by chance: then the mean of many counts, and a gain must exceed the error of that mean.

import { isSame, type Variant } from '../../gpu/tuning.ts';

/** Times of one variant, in milliseconds, each the sum of all dispatches of a kernel in one replay. */
export interface TimedVariant {
  variant: Variant;
  times: number[];
}

/** Share of the time that a variant must save; a smaller gain may be noise. */
const LEAST_GAIN = 0.05;
/** Standard errors that a gain must exceed where times are rounded; the least of several variants is compared. */
const ERRORS = 4;

/**
 * Returns the default variant, which is the first one, unless another one is clearly faster, with the milliseconds of both. `step`:
 * milliseconds to which durations are rounded, 0 if they are not; `dispatches`: their number in one replay.
 */
export function fastestVariant(
  timed: readonly TimedVariant[],
  { step, dispatches }: { step: number; dispatches: number },
): { variant: Variant; before: number; after: number; isDefault: boolean } {
  const [first, ...others] = timed.map(({ variant, times }) => ({
    variant,
    // Unrounded, the shortest time is the one that other load on the machine has disturbed least.
    ms: step > 0 ? mean(times) : Math.min(...times),
  }));
  if (first === undefined) throw new Error('no variant was timed');
  const least = others.reduce((a, b) => (b.ms < a.ms ? b : a), first);
  const needed = Math.max(
    LEAST_GAIN * first.ms,
    ERRORS * meanError(step, dispatches, timed[0]!.times.length),
  );
  const best = first.ms - least.ms > needed ? least : first;
  return {
    variant: best.variant,
    before: first.ms,
    after: best.ms,
    isDefault: isSame(best.variant, first.variant),
  };
}

/** The step of rounded durations in milliseconds; 0 if they are not all multiples of a microsecond. */
export function roundingStep(milliseconds: readonly number[]): number {
  const step = milliseconds.reduce((divisor, ms) => greatestDivisor(Math.round(ms * 1e6), divisor), 0);
  return step >= 1000 ? step / 1e6 : 0;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Standard error of the difference of two such means. Both ends of a duration are rounded down at a random phase, so that its error has a
 * variance of step² / 6.
 */
function meanError(step: number, dispatches: number, rounds: number): number {
  return step * Math.sqrt((2 * dispatches) / (6 * rounds));
}
