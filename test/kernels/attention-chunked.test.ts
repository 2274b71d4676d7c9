// Attention whose windows begin at multiples of their length, against a softmax in f64.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { CAPACITY, LONG_SEQUENCES, problem, reference, run, type Problem } from './attention-problem.ts';
import { differingRows } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function expectRight(
  on: Device,
  of: Problem,
  capacity: Parameters<typeof run>[2],
): Promise<Float32Array[]> {
  const all = await run(on, of, capacity);
  expect(all.length).toBe(of.rows.length);
  all.forEach((got, row) =>
    reference(of, row).forEach((wanted, i) => expectBelow(Math.abs(got[i]! - wanted), TOLERANCE)),
  );
  return all;
}

it.each([
  { share: 2, dims: 80, window: 8 },
  { share: 2, dims: 24, window: 40 },
])('$share queries a key, $dims dims, window $window', async ({ share, dims, window }) => {
  const shape = { heads: share, kvHeads: 1, dims };
  for (const on of [device, disguise(device, { portable: true })]) {
    const of = { ...problem(on, shape, 'f32', window), chunked: true };
    const all = await expectRight(on, of, CAPACITY);
    const alone = await run(on, of, { rows: 1, tiles: 1, tileRows: 1 }, [29]);
    expect(differingRows(alone, [all[29]!])).toEqual([]);
  }
  const hardware = disguise(device, { profile: 'discrete', deterministic: true });
  const long = { ...problem(hardware, shape, 'f16', window, LONG_SEQUENCES), chunked: true };
  await expectRight(hardware, long, { ...CAPACITY, contextPages: 24 });
});
