import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { blend } from '../../src/kernels/blend.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';

const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 4],
  [7, 5, 16],
  [13, 11, 33],
])('%i × %i pixels of %i channels', async (height, width, channels) => {
  const random = new Random(channels);
  const pixels = height * width;
  const shape = [1, height, width, channels];
  const [latents, image, noise] = [0, 1, 2].map(() => random.floats(pixels * channels)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const mask = Float32Array.from({ length: pixels }, (_, i) => [0, 1, 0.25][i % 3]!);
  const rows = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      blend(input(shape, latents), input([1, height, width, 1], mask), {
        image: input(shape, image),
        noise: input(shape, noise),
        scalars: upload(device, Float32Array.of(0.5, 9, -2)),
        imageScalar: 0,
        noiseScalar: 2,
      }),
  });
  const y = rows.flatMap((row) => [...row]);
  latents.forEach((value, i) => {
    const share = mask[Math.floor(i / channels)]!;
    const wanted = share * value + (1 - share) * (0.5 * image[i]! - 2 * noise[i]!);
    expect(Math.abs(y[i]! - wanted)).toBeLessThan(TOLERANCE * (1 + Math.abs(wanted)));
  });
});
