import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { depthwise } from '../../src/kernels/depthwise.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages } from './images.ts';

const TOLERANCE = 3e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Shape {
  batch: number;
  height: number;
  width: number;
  channels: number;
  kernel: number;
  hasBias: boolean;
  gated: boolean;
  stride?: 1 | 2;
}

const SHAPES: Shape[] = [
  { batch: 1, height: 1, width: 1, channels: 1, kernel: 3, hasBias: true, gated: false },
  { batch: 2, height: 5, width: 11, channels: 37, kernel: 3, hasBias: false, gated: false },
  { batch: 1, height: 13, width: 17, channels: 88, kernel: 3, hasBias: true, gated: true },
  { batch: 2, height: 7, width: 9, channels: 264, kernel: 5, hasBias: false, gated: false },
  { batch: 1, height: 2, width: 3, channels: 8, kernel: 5, hasBias: true, gated: true },
  { batch: 2, height: 6, width: 26, channels: 37, kernel: 3, hasBias: false, gated: false, stride: 2 },
  { batch: 3, height: 8, width: 4, channels: 264, kernel: 5, hasBias: true, gated: false, stride: 2 },
  { batch: 2, height: 7, width: 19, channels: 8, kernel: 5, hasBias: false, gated: true, stride: 2 },
];

describe.each(SHAPES)('$batch × $height × $width × $channels by $kernel, gated $gated, $stride', (of) => {
  const { batch, height, width, channels, kernel, hasBias, gated, stride = 1 } = of;
  const random = new Random(channels);
  const x = random.floats(batch * height * width * channels);
  const weight = random.floats(channels * kernel ** 2);
  const bias = random.floats(channels);
  const run = (on: Device) =>
    computeImages(on, (input) =>
      depthwise(
        input([batch, height, width, channels], x),
        on.tensor('weights', 'kernels', [channels, kernel ** 2], weight),
        { gated, stride, ...(hasBias && { bias: on.tensor('weights', 'bias', [channels], bias) }) },
      ),
    );
  const convolved = (image: number, row: number, column: number, channel: number): number => {
    let sum = hasBias ? bias[channel]! : 0;
    for (let i = 0; i < kernel; i++) {
      for (let j = 0; j < kernel; j++) {
        // As TensorFlow pads: what the last tap needs, half of it before the image, rounded down.
        const before = (size: number): number =>
          Math.max(0, (Math.ceil(size / stride) - 1) * stride + kernel - size) >> 1;
        const [r, c] = [row * stride + i - before(height), column * stride + j - before(width)];
        if (r < 0 || c < 0 || r >= height || c >= width) continue;
        const at = ((image * height + r) * width + c) * channels + channel;
        sum += x[at]! * weight[channel * kernel ** 2 + i * kernel + j]!;
      }
    }
    return sum;
  };

  it('is the sum over the taps of each channel', async () => {
    const found = await run(device);
    const half = channels / 2;
    found.forEach((values, pixel) => {
      const [rows, columns] = [Math.ceil(height / stride), Math.ceil(width / stride)];
      const [image, row] = [Math.floor(pixel / (rows * columns)), Math.floor(pixel / columns) % rows];
      expect(values.length).toBe(gated ? half : channels);
      values.forEach((value, channel) => {
        const at = (c: number) => convolved(image, row, pixel % columns, c);
        const gate = gated ? at(half + channel) : 0;
        const wanted = gated ? (at(channel) * gate) / (1 + Math.exp(-gate)) : at(channel);
        expectBelow(Math.abs(value - wanted), TOLERANCE * kernel * (1 + Math.abs(wanted)));
      });
    });
  });

  it('gives equal bits in strips and in few workgroups', async () => {
    const whole = await run(device);
    for (const as of [{ bindingLimit: 64 << 10 }, { maxWorkgroups: 2 }])
      expect(differingRows(await run(disguise(device, as)), whole)).toEqual([]);
  });
});

it('gates of half a quad are refused with the shapes', async () => {
  const record = computeImages(device, (input) =>
    depthwise(
      input([1, 1, 1, 6], new Float32Array(6)),
      device.tensor('weights', 'w', [6, 9], new Float32Array(54)),
      {
        gated: true,
      },
    ),
  );
  await expect(record).rejects.toThrow(/\[1, 1, 1, 6\] by \[6, 9\]/);
});
