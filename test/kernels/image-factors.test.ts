// Factors of images in f16, and pixels that they are applied to, against JavaScript.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { tapeOf } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { halvePixels } from '../../src/kernels/halve-pixels.ts';
import { imageFactors, normFactors } from '../../src/kernels/image-factors.ts';
import { floatsOf } from '../../src/kernels/pixels.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, f16Value, Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [BATCH, HEIGHT, WIDTH, CHANNELS] = [4, 15, 13, 37];
const PIXELS = HEIGHT * WIDTH;
const BLOCKS = 2;
const SHAPE = [BATCH, HEIGHT, WIDTH, CHANNELS];

/** Images of other magnitudes each, one of zeros among them. */
function images(): Float32Array {
  const each = PIXELS * CHANNELS;
  const scales = [2 ** 90, 1, 2 ** -70, 0];
  return new Random(8).floats(BATCH * each).map((value, i) => value * scales[Math.floor(i / each)]!);
}

/** Multiplied by the result, `largest` lies in [2¹⁴, 2¹⁵). */
function factorOf(largest: number): number {
  return 2 ** (14 - Math.floor(Math.log2(largest)));
}

it('the factor of an image brings its largest magnitude to 2¹⁴ or more', async () => {
  const x = images();
  const factors = await computeImages(device, (input) => imageFactors(input([...SHAPE], x)));
  factors.forEach(([factor, undoing], image) => {
    const own = x.subarray(image * PIXELS * CHANNELS, (image + 1) * PIXELS * CHANNELS);
    const largest = Math.max(...own.map(Math.abs));
    expect(factor! * undoing!).toBe(1);
    if (largest > 0) expect(factor).toBe(factorOf(largest));
  });
  const narrow = disguise(device, { bindingLimit: 128 << 10 });
  const cut = await computeImages(narrow, (input) => imageFactors(input([...SHAPE], x)));
  expect(differingRows(cut, factors)).toEqual([]);
});

it('the factor of an image covers a magnitude wherever it stands', async () => {
  for (const at of [0, PIXELS * CHANNELS - 1, 64 * CHANNELS, 131 * CHANNELS + 17]) {
    const x = new Float32Array(PIXELS * CHANNELS).fill(0.01);
    x[at] = -1000;
    const [factors] = await computeImages(device, (input) => imageFactors(input([1, ...SHAPE.slice(1)], x)));
    expect(factors![0]).toBe(factorOf(1000));
  }
});

it.each([true, false])('the factor of an image bounds a norm; with a bias: %s', async (hasBias) => {
  const random = new Random(2);
  const vector = (): Float32Array => random.floats(CHANNELS).map((value) => 300 * value);
  const [weights, biases] = [vector(), vector()];
  const together = 900;
  const bound = Math.max(
    ...weights.map((weight, i) => 30 * Math.abs(weight) + (hasBias ? Math.abs(biases[i]!) : 0)),
  );
  const factors = await computeImages(device, (input) => {
    const x = input([...SHAPE], images());
    const weight = input([CHANNELS], weights);
    return normFactors(x, { weight, ...(hasBias && { bias: input([CHANNELS], biases) }), together });
  });
  expect(factors.map(([factor]) => factor)).toEqual(Array.from({ length: BATCH }, () => factorOf(bound)));
});

it('the factor of an image rounds pixels to f16, and undoes itself', async () => {
  const x = images();
  const halved = (on: Device, [first, last]: readonly [number, number]): Promise<Float32Array[]> =>
    computeImages(on, (input) => {
      const image = input([...SHAPE], x);
      const [tape, pixels] = [tapeOf(image), { first, last }];
      const from = floatsOf(tape, image, pixels);
      return halvePixels(tape, image, pixels, from, imageFactors(image)).operand as Tensor;
    });
  const all = await halved(device, [0, BATCH * PIXELS]);
  const factors = await computeImages(device, (input) => imageFactors(input([...SHAPE], x)));
  all.forEach((words, pixel) => {
    const undoing = factors[Math.floor(pixel / PIXELS)]![1]!;
    new Uint16Array(words.buffer, 0, 32 * BLOCKS).forEach((bits, channel) => {
      const wanted = channel < CHANNELS ? x[pixel * CHANNELS + channel]! : 0;
      expect(Math.abs(f16Value(bits) * undoing - wanted)).toBeLessThanOrEqual(Math.abs(wanted) * 2 ** -10);
    });
  });
  const some = await halved(device, [PIXELS - 20, PIXELS + 30]);
  expect(differingRows(some, all.slice(PIXELS - 20, PIXELS + 30))).toEqual([]);
});
