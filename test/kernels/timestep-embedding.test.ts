import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { timestepEmbedding, type Waves } from '../../src/kernels/timestep-embedding.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 5e-7;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function reference(t: number, dims: number, { flip, shift, maxPeriod }: Waves): number[] {
  const half = dims / 2;
  const angles = Array.from(
    { length: half },
    (_, i) => t * Math.exp((-Math.log(maxPeriod) * i) / Math.max(half - shift, 1)),
  );
  const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
  return flip ? [...cosines, ...sines] : [...sines, ...cosines];
}

/** Whole and fractional steps, guidance scales, image sizes, zero, a tiny number and negative numbers. */
const TIMES = [0, 1, 999, 1000, 981.5, 0.001, 1e-30, 499.123, 6500, 1536, -0.75, -1024, 123456.789].map(
  Math.fround,
);

describe.each([
  { flip: true, shift: 0, maxPeriod: 10000 },
  { flip: false, shift: 1, maxPeriod: 10000 },
  { flip: true, shift: 1, maxPeriod: 256 },
])('flip $flip, shift $shift, periods to $maxPeriod', (waves) => {
  it.each([2, 6, 64, 256, 320])('%i dims', async (dims) => {
    const y = await compute({
      device,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        timestepEmbedding(input([TIMES.length, 1], Float32Array.from(TIMES)), dims, waves),
    });
    TIMES.forEach((t, i) => {
      const right = reference(t, dims, waves);
      expect(y[i]!.length).toBe(dims);
      right.forEach((value, d) => expectBelow(Math.abs(y[i]![d]! - value), TOLERANCE));
    });
  });
});

it('several numbers a row stand side by side', async () => {
  const waves = { flip: true, shift: 0, maxPeriod: 10000 };
  const sizes = [1024, 768, 0, 13, 512, 512, 1, 2, 3, 4, 5, 6];
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => timestepEmbedding(input([2, 6], Float32Array.from(sizes)), 10, waves),
  });
  const right = sizes.flatMap((size) => reference(size, 10, waves));
  [...y[0]!, ...y[1]!].forEach((value, i) => expectBelow(Math.abs(value - right[i]!), TOLERANCE));
});

it('odd dims are refused with the number', () => {
  const t = device.tensor('step', 't', [1], Float32Array.of(1));
  const record = compute({
    device,
    capacity: {},
    sizes: {},
    record: (tape) => timestepEmbedding(t.on(tape), 7, { flip: true, shift: 0, maxPeriod: 10000 }),
  });
  return expect(record).rejects.toThrow(/7 dims/);
});
