// Paged attention with a bias by the distance of a key, against a softmax in f64, for rows of prompts, of replies and of spans.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { CAPACITY, problem, reference, run, SEQUENCES, type Problem } from './attention-problem.ts';
import { differingRows, Random } from './compute.ts';
import { largestError } from './worst-error.ts';

let device: Device;
let plain: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  plain = disguise(device, { portable: true });
  hardware = disguise(device, { profile: 'discrete', deterministic: true });
});
afterAll(() => device.destroy());

const TOLERANCE = 2e-6;
const FARTHEST = 6;
const random = new Random(5);

function worstError(of: Problem, rows: readonly number[], found: readonly Float32Array[]): number {
  return Math.max(...rows.map((row, i) => largestError(found[i]!, reference(of, row))));
}

it.each([
  { dims: 24, heads: 2, spans: false },
  { dims: 6, heads: 3, spans: true },
  { dims: 24, heads: 6, spans: true, slopes: 8 },
])('$heads heads of $dims, spans $spans, slopes $slopes', async ({ dims, heads, spans, slopes }) => {
  const shape = { heads, kvHeads: heads, dims };
  const learned = random.floats((2 * FARTHEST + 1) * heads).map((value) => 3 * value);
  const scores = slopes === undefined ? { biases: learned } : { slopes };
  const whole = SEQUENCES.map(({ from, rows }, sequence) => ({ sequence, first: from, end: from + rows }));
  for (const on of spans ? [device, plain] : [device, plain, hardware]) {
    const of = { ...problem(on, shape, 'f32', null, SEQUENCES, spans ? whole : []), ...scores };
    const all = await run(on, of, CAPACITY);
    const rows = of.rows.map((_, row) => row);
    expect(worstError(of, rows, all)).toBeLessThan(TOLERANCE);
    if (on === hardware) {
      const decoded = await run(on, of, { rows: 2, tiles: 2, tileRows: 1, contextPages: 4 }, [21, 28], true);
      expect(worstError(of, [21, 28], decoded)).toBeLessThan(TOLERANCE);
      continue;
    }
    const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [29]);
    expect(differingRows(alone, [all[29]!])).toEqual([]);
  }
});

it('biases for keys that queries share are refused', async () => {
  const of = {
    ...problem(device, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null),
    biases: new Float32Array(2 * 13),
  };
  await expect(run(device, of, CAPACITY)).rejects.toThrow('biases of 2 heads, for 2 heads on 1 keys');
});

it('slopes for keys that queries share are refused', async () => {
  const of = { ...problem(device, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null), slopes: 8 };
  await expect(run(device, of, CAPACITY)).rejects.toThrow('slopes exclude a cap and biases, and shared keys');
});
