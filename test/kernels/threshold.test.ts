import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { clampTo } from '../../src/kernels/clamp.ts';
import { threshold, type Threshold } from '../../src/kernels/threshold.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

const TOLERANCE = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function run(on: Device, values: Float32Array, shape: number[], by: Threshold): Promise<number[]> {
  const rows = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) => threshold(input(shape, values), by),
  });
  return rows.flatMap((row) => [...row]);
}

/** The definition: sorts all magnitudes. */
function naive(values: Float32Array, { ratio, most }: Threshold): number[] {
  const sizes = values.map(Math.abs).sort();
  const place = Math.fround(Math.fround(ratio) * (sizes.length - 1));
  const rank = Math.floor(place);
  const [below, above] = [sizes[rank]!, sizes[Math.min(rank + 1, sizes.length - 1)]!];
  const s = Math.min(Math.max(below + (place - rank) * (above - below), 1), most);
  return [...values].map((value) => Math.min(Math.max(value, -s), s) / s);
}

async function expectNaive(on: Device, values: Float32Array, shape: number[], by: Threshold): Promise<void> {
  const y = await run(on, values, shape, by);
  const wanted = naive(values, by);
  expect(y.length).toBe(wanted.length);
  const worst = y.reduce((most, value, i) => Math.max(most, Math.abs(value - wanted[i]!)), 0);
  expect(worst).toBeLessThan(TOLERANCE);
}

/** Values of different magnitudes: some among thousands are far larger. */
const spread = (count: number): Float32Array =>
  new Random(count).floats(count).map((value, i) => value * (i % 17 === 0 ? 40 : 3));

describe.each([
  [1, 1, 1, 1],
  [1, 1, 2, 1],
  [1, 3, 5, 4],
  [1, 7, 11, 3],
  [1, 13, 17, 16],
  [1, 64, 67, 4],
])('the threshold of [%i, %i, %i, %i]', (...shape) => {
  const values = spread(shape.reduce((product, extent) => product * extent, 1));

  it.each([0, 0.3, 0.5, 0.9, 0.995, 1])('the quantile %d', async (ratio) => {
    await expectNaive(device, values, shape, { ratio, most: 1e9 });
  });

  it('at most so much', async () => {
    await expectNaive(device, values, shape, { ratio: 0.9, most: 1.5 });
    await expectNaive(device, values, shape, { ratio: 0.9, most: 1 });
  });
});

it('values that are equal, zero, and of both signs', async () => {
  const shape = [1, 5, 5, 4];
  const equal = Float32Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 5 : -5));
  await expectNaive(device, equal, shape, { ratio: 0.7, most: 10 });
  await expectNaive(device, new Float32Array(100), shape, { ratio: 0.995, most: 10 });
  const few = Float32Array.from({ length: 100 }, (_, i) => (i < 3 ? -7 : i < 6 ? 3 : 0));
  for (const ratio of [0.93, 0.9405, 0.955, 0.97, 0.975, 0.99])
    await expectNaive(device, few, shape, { ratio, most: 10 });
});

it('the threshold in strips of 256 KiB', async () => {
  const shape = [1, 131, 139, 4];
  const small = disguise(device, { bindingLimit: 256 << 10 });
  await expectNaive(small, spread(131 * 139 * 4), shape, { ratio: 0.995, most: 100 });
});

it('clampTo() clamps to a range', async () => {
  const values = spread(3 * 5 * 3);
  const rows = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => clampTo(input([1, 3, 5, 3], values), 1.25),
  });
  const y = rows.flatMap((row) => [...row]);
  expect(y).toEqual([...values].map((value) => Math.fround(Math.min(Math.max(value, -1.25), 1.25))));
  expect(Math.max(...y)).toBe(1.25);
});
