// Channels by their statistics, and back, against f64.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { batchNorm, batchNormLogarithms, undoBatchNorm } from '../../src/kernels/batch-norm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { computeImages } from './images.ts';

const EPS = 1e-4;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function expectBoth(on: Device, height: number, width: number, channels: number): Promise<void> {
  const random = new Random(channels);
  const pixels = height * width;
  const columns = 2 * channels; // of which the second half is left out
  const x = random.floats(pixels * columns);
  const mean = random.floats(channels);
  const variance = random.floats(channels).map((value) => value ** 2);
  variance[0] = 0;
  for (const undo of [false, true]) {
    const y = await computeImages(on, (input) => {
      const statistics = { mean: input([channels], mean), variance: input([channels], variance), eps: EPS };
      return (undo ? undoBatchNorm : batchNorm)(input([1, pixels, columns], x), statistics, [
        1,
        height,
        width,
      ]);
    });
    expect(y).toHaveLength(pixels);
    const wrong = y.filter((row, i) =>
      row.some((value, c) => {
        const spread = Math.sqrt(variance[c]! + EPS);
        const given = x[i * columns + c]!;
        const wanted = undo ? given * spread + mean[c]! : (given - mean[c]!) / spread;
        return !(Math.abs(value - wanted) < 1e-5 * (1 + Math.abs(wanted)));
      }),
    );
    expect(y[0]).toHaveLength(channels);
    expect(wrong).toEqual([]);
  }
}

it.each([
  [1, 1, 4],
  [5, 7, 16],
  [3, 11, 130],
])('%i × %i pixels of %i channels', async (...sizes) => {
  await expectBoth(device, ...sizes);
});

it('images in bindings of 256 KiB', async () => {
  await expectBoth(disguise(device, { bindingLimit: 256 << 10 }), 40, 50, 128);
});

it('channels by their deviations, back, and the logarithms of their variances', async () => {
  const [pixels, channels] = [21, 7];
  const random = new Random(7);
  const x = random.floats(pixels * channels);
  const mean = random.floats(channels);
  const deviations = random.floats(channels).map((value) => 0.25 + value ** 2);
  const formulas = [
    { make: batchNorm, of: (v: number, c: number) => (v - mean[c]!) / deviations[c]! },
    { make: undoBatchNorm, of: (v: number, c: number) => v * deviations[c]! + mean[c]! },
    { make: batchNormLogarithms, of: (v: number, c: number) => v - 2 * Math.log(deviations[c]!) },
  ];
  for (const { make, of } of formulas) {
    const y = await computeImages(device, (input) => {
      const variance = input([channels], deviations);
      const statistics = { mean: input([channels], mean), variance, eps: 1, areDeviations: true };
      return make(input([1, 3, 7, channels], x), statistics);
    });
    y.forEach((row, i) => row.forEach((value, c) => expectCloseTo(value, of(x[i * channels + c]!, c), 4)));
  }
});

it('statistics of more channels are refused', async () => {
  const run = computeImages(device, (input) => {
    const four = input([4], new Float32Array(4));
    return batchNorm(input([1, 3], new Float32Array(3)), { mean: four, variance: four, eps: EPS });
  });
  await expect(run).rejects.toThrow('batchNorm: [1, 3] to [1, 4]');
});
