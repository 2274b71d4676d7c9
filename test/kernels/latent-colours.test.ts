import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { latentColours } from '../../src/kernels/latent-colours.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 4],
  [5, 7, 16],
  [13, 9, 33],
])('%i × %i latents of %i channels', async (height, width, channels) => {
  const random = new Random(channels);
  const x = random.floats(height * width * channels);
  const factors = random.floats(4 * (channels + 1)).map((value) => value / channels);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => latentColours(input([1, height, width, channels], x), upload(device, factors)),
  });
  y.forEach((row, pixel) =>
    row.forEach((value, k) => {
      let sum = factors[4 * channels + k]!;
      for (let c = 0; c < channels; c++) sum += x[pixel * channels + c]! * factors[4 * c + k]!;
      expect(Math.abs(value - Math.min(Math.max(sum, -1), 1))).toBeLessThan(2e-6);
    }),
  );
});
