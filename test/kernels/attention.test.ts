// Paged attention against a softmax in f64: steps that mix prefill, chunks and decode of several sequences, on every head shape;
// and bit by bit against the same row alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import {
  CAPACITY,
  LONG_SEQUENCES,
  problem,
  reference,
  run,
  SEQUENCES,
  type Problem,
  type Span,
} from './attention-problem.ts';
import { CODED } from './coded-pages.ts';
import { differingRows } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
let plain: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  plain = disguise(device, { portable: true });
  hardware = disguise(device, { profile: 'discrete', deterministic: true });
});
afterAll(() => device.destroy());

/** Values are within ±1, so the tolerance is absolute: a few ulp and the rounding of exp. */
const TOLERANCE = 2e-6;

function worstError(of: Problem, y: Float32Array[]): number {
  expect(y.length).toBe(of.rows.length);
  return y.reduce((worst, got, row) => {
    const errors = reference(of, row).map((wanted, i) => Math.abs(got[i]! - wanted));
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

const DIMS = [16, 24, 64, 80, 128];

const SHAPES = [
  { share: 1, dims: 16, kvHeads: 1, window: null },
  { share: 1, dims: 80, kvHeads: 2, window: 8 },
  { share: 2, dims: 24, kvHeads: 1, window: 40 },
  { share: 2, dims: 128, kvHeads: 2, window: null },
  { share: 3, dims: 64, kvHeads: 1, window: 8 },
  { share: 4, dims: 80, kvHeads: 1, window: 8 },
  { share: 8, dims: 128, kvHeads: 1, window: null },
  { share: 2, dims: 512, kvHeads: 1, window: null },
  { share: 3, dims: 6, kvHeads: 2, window: null },
  { share: 1, dims: 54, kvHeads: 3, window: 8 },
];

for (const { share, dims, kvHeads, window } of SHAPES) {
  const title = `${share} queries a key, ${dims} dims, ${kvHeads} key heads, window ${window}`;
  it(title, async () => {
    const shape = { heads: share * kvHeads, kvHeads, dims };
    const of = problem(device, shape, 'f32', window);
    const all = await run(device, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);

    // Alone, with three other rows, and in a step of its own tile.
    for (const row of [0, 21, 29]) {
      const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
      expect(differingRows(alone, [all[row]!])).toEqual([]);
    }
    for (const [rows, capacity] of [
      [[20, 21, 28, 29], { rows: 4, tiles: 4, tileRows: 1 }],
      [[3, 4, 5, 6], { rows: 4, tiles: 1, tileRows: 4 }],
    ] as const) {
      const expected = rows.map((row) => all[row]!);
      expect(differingRows(await run(device, of, capacity, [...rows]), expected)).toEqual([]);
    }
  });
}

describe('long contexts, in chunks', () => {
  it.each([
    { share: 1, dims: 64, kvHeads: 2, window: null },
    { share: 2, dims: 128, kvHeads: 1, window: 40 },
    { share: 3, dims: 24, kvHeads: 2, window: 300 },
    { share: 12, dims: 16, kvHeads: 1, window: null },
  ])('$share queries a key, $dims dims, window $window', async ({ share, dims, kvHeads, window }) => {
    const of = problem(hardware, { heads: share * kvHeads, kvHeads, dims }, 'f16', window, LONG_SEQUENCES);
    const all = await run(hardware, of, { ...CAPACITY, contextPages: 24 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    // By several workgroups with different other rows, and by one workgroup.
    for (const chosen of [[13], [0, 1, 2, 3, 13], [0, 13, 34]]) {
      const expected = chosen.map((row) => all[row]!);
      for (const contextPages of [24, undefined]) {
        const capacity = { rows: 16, tiles: 4, tileRows: 16, ...(contextPages && { contextPages }) };
        expect(differingRows(await run(hardware, of, capacity, chosen), expected)).toEqual([]);
      }
    }
  });

  it('are as many as there is room for, however long the context', async () => {
    const of = problem(hardware, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null, LONG_SEQUENCES);
    const capacity = { rows: 1, tiles: 1, tileRows: 1, contextPages: 64 * 16 };
    const all = await run(hardware, of, { ...CAPACITY, contextPages: 64 * 16 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    expect(differingRows(await run(hardware, of, capacity, [0]), [all[0]!])).toEqual([]);
  });

  it('are one where the key heads occupy all cores', async () => {
    const of = problem(device, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', 300, LONG_SEQUENCES);
    const all = await run(device, of, { ...CAPACITY, contextPages: 24 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1, contextPages: 24 }, [0]);
    expect(differingRows(alone, [all[0]!])).toEqual([]);
  });
});

describe('pages of codes', () => {
  it.each(
    [
      { share: 2, dims: 80, kvHeads: 2, window: 40 },
      { share: 2, dims: 12, kvHeads: 1, window: null },
    ].flatMap((shape) => CODED.map((format) => ({ ...shape, format }))),
  )('$format, $share queries a key, $dims dims, $kvHeads key heads, window $window', async (one) => {
    const { share, dims, kvHeads, window, format } = one;
    const shape = { heads: share * kvHeads, kvHeads, dims };
    const of = problem(device, shape, format, window);
    const all = await run(device, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1 }, [29]);
    expect(differingRows(alone, [all[29]!])).toEqual([]);
    const other = problem(plain, shape, format, window);
    expect(worstError(other, await run(plain, other, CAPACITY))).toBeLessThan(TOLERANCE);
  });
});

/** Sinks below, among and far above the scores. */
const SINKS = [-30, 0.5, 2, 90];

describe('capped scores and sinks', () => {
  it.each([
    { cap: 1.5, hasSinks: false, window: 8 },
    { cap: null, hasSinks: true, window: null },
    { cap: 2, hasSinks: true, window: 40 },
  ])('cap $cap, sinks $hasSinks, window $window', async ({ cap, hasSinks, window }) => {
    const shape = { heads: 4, kvHeads: 2, dims: 24 };
    const sinks = hasSinks ? Float32Array.from(SINKS) : null;
    const isBoth = cap !== null && hasSinks;
    for (const on of isBoth ? [device, plain] : [device]) {
      const of = { ...problem(on, shape, 'f32', window), cap, sinks };
      const all = await run(on, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      for (const row of [0, 21, 29]) {
        const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
        expect(differingRows(alone, [all[row]!])).toEqual([]);
      }
    }
    if (!isBoth) return;
    const long = { ...problem(hardware, shape, 'f16', window, LONG_SEQUENCES), cap, sinks };
    const all = await run(hardware, long, { ...CAPACITY, contextPages: 24 });
    expect(worstError(long, all)).toBeLessThan(TOLERANCE);
    for (const contextPages of [24, undefined]) {
      const capacity = { rows: 16, tiles: 4, tileRows: 16, ...(contextPages && { contextPages }) };
      const chosen = [0, 13, 34];
      const expected = chosen.map((row) => all[row]!);
      expect(differingRows(await run(hardware, long, capacity, chosen), expected)).toEqual([]);
    }
  });
});

/** Whole texts, and spans between tokens that attend only to earlier ones. */
const SPANS: Span[] = [
  { sequence: 0, first: 0, end: 21 },
  { sequence: 2, first: 31, end: 36 },
];
const LONG_SPANS: Span[] = [
  { sequence: 1, first: 251, end: 257 },
  { sequence: 3, first: 590, end: 611 },
];

describe('spans whose tokens see each other', () => {
  it.each([
    { share: 1, dims: 16, kvHeads: 3, window: null },
    { share: 1, dims: 64, kvHeads: 2, window: 8 },
    { share: 3, dims: 24, kvHeads: 1, window: null },
  ])('$share queries a key, $dims dims, window $window', async ({ share, dims, kvHeads, window }) => {
    for (const on of [device, plain]) {
      const shape = { heads: share * kvHeads, kvHeads, dims };
      const of = problem(on, shape, 'f32', window, SEQUENCES, SPANS);
      const all = await run(on, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      for (const row of [0, 21, 25]) {
        const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
        expect(differingRows(alone, [all[row]!])).toEqual([]);
      }
    }
  });

  it.each([1, 3, 8])('in a window of %i tokens to both sides', async (window) => {
    for (const on of [device, plain]) {
      const of = problem(on, { heads: 4, kvHeads: 2, dims: 24 }, 'f32', window, SEQUENCES, SPANS);
      of.bothSides = true;
      const all = await run(on, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [10]);
      expect(differingRows(alone, [all[10]!])).toEqual([]);
    }
  });

  it('rows that see earlier tokens only, or none', async () => {
    for (const on of [device, plain]) {
      const blind: Span[] = [
        { sequence: 0, first: 5, end: 21, last: 4 },
        { sequence: 1, first: 70, end: 71, last: 33 },
        { sequence: 2, first: 31, end: 37, last: -1 },
      ];
      const of = problem(on, { heads: 4, kvHeads: 2, dims: 24 }, 'f32', null, SEQUENCES, blind);
      const all = await run(on, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      expect([...all[25]!]).toEqual(Array(96).fill(0));
    }
  });

  it.each([
    [null, false],
    [40, false],
    [5, true],
  ])('in chunks, window %s, to both sides: %s', async (window, bothSides) => {
    const shape = { heads: 4, kvHeads: 2, dims: 64 };
    const of = problem(hardware, shape, 'f16', window, LONG_SEQUENCES, LONG_SPANS);
    of.bothSides = bothSides;
    const all = await run(hardware, of, { ...CAPACITY, contextPages: 24 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    for (const chosen of [[1, 2, 3, 4, 5, 6, 7, 8], [14, 15, 16, 17], [34]]) {
      const capacity = { rows: 16, tiles: 8, tileRows: 16, contextPages: 24 };
      const expected = chosen.map((row) => all[row]!);
      expect(differingRows(await run(hardware, of, capacity, chosen), expected)).toEqual([]);
    }
  });
});

describe('pages in f16', () => {
  it.each([24, 80])('%i dims', async (dims) => {
    const of = problem(device, { heads: 6, kvHeads: 2, dims }, 'f16', 40);
    const all = await run(device, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1 }, [21]);
    expect(differingRows(alone, [all[21]!])).toEqual([]);
  });
});

describe('attention without subgroups', () => {
  // Each format and head size is a pipeline that software adapters compile for seconds.
  it.each(DIMS)('%i dims', async (dims) => {
    const cases = [['f32', null] as const, ...(dims === 24 || dims === 80 ? [['f16', 8] as const] : [])];
    for (const [format, window] of cases) {
      const of = problem(plain, { heads: 6, kvHeads: 2, dims }, format, window);
      const all = await run(plain, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      for (const row of [0, 21]) {
        const alone = await run(plain, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
        expect(differingRows(alone, [all[row]!])).toEqual([]);
      }
    }
  });
});

it('scores that would overflow exp', async () => {
  for (const on of [device, plain]) {
    const of = problem(on, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null);
    of.q.forEach((value, i) => (of.q[i] = value * 300));
    const y = await run(on, of, CAPACITY);
    // The largest score dominates, so the result is its value.
    y.forEach((row, i) => {
      const { sequence, position } = of.rows[i]!;
      const score = (token: number) =>
        of.keys[sequence]![token]!.reduce((sum, key, d) => sum + key * of.q[i * 32 + d]!, 0);
      let best = 0;
      for (let token = 1; token <= position; token++) if (score(token) > score(best)) best = token;
      for (let token = 0; token <= position; token++) {
        if (token !== best && score(token) > score(best) - 30) return; // too close to tell
      }
      row.slice(0, 16).forEach((got, d) => expectCloseTo(got, of.values[sequence]![best]![d]!, 5));
    });
    expect(y.flatMap((row) => Array.from(row)).every(Number.isFinite)).toBe(true);
  }
});
