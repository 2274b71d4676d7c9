// Scaling like torch.nn.functional.interpolate(mode='bilinear', align_corners=False), and the cut of diffusers' resize_and_crop_tensor.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { scaleAndCut } from '../../src/kernels/scale-and-cut.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, [2, 2], [4, 4], 3],
  [1, [1, 6], [1, 2], 1],
  [2, [13, 19], [5, 8], 3],
  [2, [24, 40], [37, 61], 35],
])('%i images of %j to %j', async (batch, [tall, wide], [height, width], channels) => {
  const x = new Random(tall!).floats(batch * tall! * wide! * channels);
  const run = (on: Device) =>
    computeImages(on, (input) =>
      scaleAndCut(input([batch, tall!, wide!, channels], x), { height: height!, width: width! }),
    );
  const found = await run(device);
  const ratio = Math.max(height! / tall!, width! / wide!);
  const near = (from: number, kept: number, i: number) => {
    const made = Math.trunc(from * ratio);
    const at = Math.max(0, ((Math.floor((made - kept) / 2) + i + 0.5) * from) / made - 0.5);
    const first = Math.floor(at);
    return { first, second: Math.min(first + 1, from - 1), far: at - first };
  };
  expect(found.length).toBe(batch * height! * width!);
  found.forEach((pixel, i) => {
    const down = near(tall!, height!, Math.floor(i / width!) % height!);
    const across = near(wide!, width!, i % width!);
    const image = Math.floor(i / (width! * height!)) * tall!;
    pixel.forEach((value, channel) => {
      const at = (row: number, column: number) => x[((image + row) * wide! + column) * channels + channel]!;
      const mixed = (row: number) =>
        (1 - across.far) * at(row, across.first) + across.far * at(row, across.second);
      const wanted = (1 - down.far) * mixed(down.first) + down.far * mixed(down.second);
      expectBelow(Math.abs(value - wanted), 2e-5);
    });
  });
  const inStrips = await run(disguise(device, { bindingLimit: 80 << 10 }));
  expect(differingRows(inStrips, found)).toEqual([]);
});

it('images of that size stay', async () => {
  const x = Float32Array.of(1, 2, 3);
  const found = await computeImages(device, (input) => {
    const image = input([1, 1, 3, 1], x);
    expect(scaleAndCut(image, { height: 1, width: 3 })).toBe(image);
    return image;
  });
  expect(found.flatMap((row) => [...row])).toEqual([1, 2, 3]);
});
