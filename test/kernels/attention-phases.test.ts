// Paged attention of the profiles of GPUs against a softmax in f64: decode rows and prompt rows, each bit by bit against the same row alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { LONG_SEQUENCES, problem, reference, run, SEQUENCES, type Problem } from './attention-problem.ts';
import { CODED } from './coded-pages.ts';
import { differingRows } from './compute.ts';

let device: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  hardware = disguise(device, { profile: 'discrete' });
});
afterAll(() => device.destroy());

const CAPACITY = { rows: 48, tiles: 34, tileRows: 16, contextPages: 24 };

/** Values are within ±1, so the tolerance is absolute: a few ulp and the rounding of exp. */
const TOLERANCE = 2e-6;

function worstError(of: Problem, y: Float32Array[], rows: number[]): number {
  return y.reduce((worst, got, i) => {
    const errors = reference(of, rows[i]!).map((wanted, at) => Math.abs(got[at]! - wanted));
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

const SHAPES = [
  { share: 2, dims: 80, kvHeads: 1, window: 40 },
  { share: 4, dims: 128, kvHeads: 2, window: null },
  { share: 12, dims: 16, kvHeads: 1, window: null },
  { share: 1, dims: 54, kvHeads: 3, window: 8 },
];

describe.each(SHAPES)('$share queries a key, $dims dims, $kvHeads key heads, window $window', (one) => {
  const { share, dims, kvHeads, window } = one;
  const of = (sequences: typeof SEQUENCES, format: 'f16' | 'f32' = 'f16') =>
    problem(hardware, { heads: share * kvHeads, kvHeads, dims }, format, window, sequences);

  it('rows of a prompt', async () => {
    const short = of(SEQUENCES, 'f32');
    const rows = short.rows.map((_, i) => i);
    const all = await run(hardware, short, CAPACITY, rows);
    expect(worstError(short, all, rows)).toBeLessThan(TOLERANCE);
    for (const chosen of [[0], [21], [20, 21, 28, 29], [3, 4, 5, 6]]) {
      const expected = chosen.map((row) => all[row]!);
      expect(differingRows(await run(hardware, short, CAPACITY, chosen), expected)).toEqual([]);
    }
  });

  it('generated rows', async () => {
    const long = of(LONG_SEQUENCES);
    const rows = [0, 1, 5, 13, 14, 20, 34];
    const all = await run(hardware, long, CAPACITY, rows, true);
    expect(worstError(long, all, rows)).toBeLessThan(TOLERANCE);
    for (const row of rows) {
      const capacity = { rows: 1, tiles: 1, tileRows: 1, contextPages: 24 };
      const alone = await run(hardware, long, capacity, [row], true);
      expect(differingRows(alone, [all[rows.indexOf(row)]!])).toEqual([]);
    }
  });
});

it.each(CODED.flatMap((format) => [80, 128].map((dims) => ({ format, dims }))))(
  'pages in $format, $dims dims',
  async ({ format, dims }) => {
    const shape = { heads: 4, kvHeads: 2, dims };
    const sequences = [
      { from: 0, rows: 3 },
      { from: 200, rows: 2 },
    ];
    const of = problem(hardware, shape, format, dims === 80 ? 100 : null, sequences);
    for (const [rows, decodes] of [
      [[0, 1, 2, 3, 4], false],
      [[2, 4], true],
    ] as const) {
      const y = await run(hardware, of, CAPACITY, [...rows], decodes);
      expect(worstError(of, y, [...rows])).toBeLessThan(TOLERANCE);
    }
  },
);

it('attention does not depend on the longest context that there is room for', async () => {
  const long = problem(hardware, { heads: 12, kvHeads: 1, dims: 16 }, 'f16', null, LONG_SEQUENCES);
  const [few, many] = await Promise.all(
    [24, 4096].map((contextPages) =>
      run(hardware, long, { ...CAPACITY, contextPages, rows: 4 }, [0, 1], true),
    ),
  );
  expect(differingRows(few!, many!)).toEqual([]);
});

it('attention takes several rounds for the chunks of a very long context', async () => {
  const of = problem(hardware, { heads: 12, kvHeads: 1, dims: 16 }, 'f16', null, [{ from: 9000, rows: 1 }]);
  const capacity = { rows: 1, tiles: 1, tileRows: 1, contextPages: 282 };
  expect(worstError(of, await run(hardware, of, capacity, [0], true), [0])).toBeLessThan(TOLERANCE);
});
