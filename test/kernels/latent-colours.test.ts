import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { latentColours } from '../../src/kernels/latent-colours.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 4, 1],
  [5, 7, 16, 1],
  [13, 9, 33, 1],
  [3, 5, 8, 8],
  [4, 2, 5, 3],
  [4, 2, 5, 3, 2],
])(
  '%i × %i latents of %i channels, %i pixels along each',
  async (height, width, channels, side, frames = 1) => {
    const random = new Random(channels);
    const x = random.floats(frames * height * width * channels);
    const factors = random.floats(4 * (channels + 1) * side ** 2).map((value) => value / channels);
    const y = await compute({
      device,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        latentColours(input([frames, height, width, channels], x), upload(device, factors), side),
    });
    expect(y.length).toBe(frames * height * width * side ** 2);
    y.forEach((row, pixel) =>
      row.forEach((value, k) => {
        const [down, across] = [Math.floor(pixel / (width * side)), pixel % (width * side)];
        const latent = Math.floor(down / side) * width + Math.floor(across / side);
        const factor = (c: number) => factors[4 * ((c * side + (down % side)) * side + (across % side)) + k]!;
        let sum = factor(channels);
        for (let c = 0; c < channels; c++) sum += x[latent * channels + c]! * factor(c);
        expectBelow(Math.abs(value - Math.min(Math.max(sum, -1), 1)), 2e-6);
      }),
    );
  },
);
