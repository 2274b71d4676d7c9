// The choice of a variant by exact times, and by times that are rounded as in browsers.

import { describe, expect, it } from 'vitest';
import { fastestVariant, roundingStep } from '../../../src/engine/tuning/fastest-variant.ts';
import { randomInteger } from '../random.ts';

/** Numbers from 0 to 1. */
function numbers(seed: number): () => number {
  const integer = randomInteger(seed);
  return () => integer(1e6) / 1e6;
}

const EXACT = { step: 0, dispatches: 10 };

/** Sums of 10 dispatches of `ms` each, with both ends rounded down to 0.1 ms. */
function rounded(ms: number, rounds: number, random: () => number): number[] {
  return Array.from({ length: rounds }, () => {
    let sum = 0;
    for (let i = 0; i < 10; i++) {
      const start = random();
      sum += (Math.floor((start + ms) * 10) - Math.floor(start * 10)) / 10;
    }
    return sum;
  });
}

describe('exact times of variants', () => {
  it('the shortest time decides, and a gain of less than a twentieth counts as noise', () => {
    const first = { variant: { rows: 8 }, times: [10, 12] };
    const choose = (...times: number[]) =>
      fastestVariant([first, { variant: { rows: 16 }, times }], EXACT).variant;
    expect(choose(14, 9)).toEqual({ rows: 16 });
    expect(choose(9.6, 9.8)).toEqual({ rows: 8 });
    expect(choose(11, 13)).toEqual({ rows: 8 });
  });
});

describe('rounded times of variants', () => {
  const ROUNDED = { step: 0.1, dispatches: 10 };

  it('differences below the error of the rounding choose the default', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = numbers(seed);
      const timed = [1, 2, 3, 4].map((rows) => ({ variant: { rows }, times: rounded(0.02, 4, random) }));
      expect(fastestVariant(timed, ROUNDED)).toMatchObject({ variant: { rows: 1 }, isDefault: true });
    }
  });

  it('a clear difference is found', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = numbers(seed);
      const timed = [0.3, 0.15].map((ms, rows) => ({ variant: { rows }, times: rounded(ms, 4, random) }));
      expect(fastestVariant(timed, ROUNDED).variant).toEqual({ rows: 1 });
    }
  });
});

it('the step of rounded times is the greatest common divisor of all durations', () => {
  expect(roundingStep([0.1, 0.3, 0, 0.2])).toBeCloseTo(0.1);
  expect(roundingStep([0.065536, 0.131072])).toBeCloseTo(0.065536);
  expect(roundingStep([0.012345, 0.3])).toBe(0);
  expect(roundingStep([])).toBe(0);
});
