// GroupNorm against sums in f64: odd sizes, groups of one channel and of many, large means; and bit by bit across batches and
// strips.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { groupnorm } from '../../src/kernels/groupnorm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Problem {
  batch: number;
  height: number;
  width: number;
  channels: number;
  groups: number;
  silu: boolean;
  x: Float32Array;
  weight: Float32Array;
  bias: Float32Array;
}

type Sizes = Partial<Omit<Problem, 'x' | 'weight' | 'bias'>> & { channels: number; groups: number };

const EPS = 1e-5;

function problem({ batch = 1, height = 5, width = 7, channels, groups, silu = false }: Sizes): Problem {
  const random = new Random(channels + height);
  const x = random.floats(batch * height * width * channels);
  const [weight, bias] = [random.floats(channels), random.floats(channels)];
  return { batch, height, width, channels, groups, silu, x, weight, bias };
}

/** Images `from` to `to` of a problem. */
function run(on: Device, of: Problem, from = 0, to: number = of.batch): Promise<Float32Array[]> {
  const { height, width, channels, groups, silu } = of;
  const image = height * width * channels;
  return computeImages(on, (input) =>
    groupnorm(
      input([to - from, height, width, channels], of.x.subarray(from * image, to * image)),
      { weight: held(on, of.weight), bias: held(on, of.bias) },
      { groups, eps: EPS, silu },
    ),
  );
}

function held(on: Device, values: Float32Array): Tensor {
  return on.tensor('weights', 'norm', [values.length], values);
}

/** Returns the largest difference from the result in f64; outputs are of the order of one. */
function worstError(of: Problem, y: Float32Array[]): number {
  const { batch, height, width, channels, groups } = of;
  const pixels = height * width;
  const size = channels / groups;
  let worst = 0;
  for (let image = 0; image < batch; image++) {
    for (let group = 0; group < groups; group++) {
      const values = Array.from({ length: pixels * size }, (_, i) => {
        const [pixel, channel] = [image * pixels + Math.floor(i / size), group * size + (i % size)];
        return { value: of.x[pixel * channels + channel]!, pixel, channel };
      });
      const mean = values.reduce((sum, { value }) => sum + value, 0) / values.length;
      const variance = values.reduce((sum, { value }) => sum + (value - mean) ** 2, 0) / values.length;
      for (const { value, pixel, channel } of values) {
        const normed = ((value - mean) / Math.sqrt(variance + EPS)) * of.weight[channel]! + of.bias[channel]!;
        const wanted = of.silu ? normed / (1 + Math.exp(-normed)) : normed;
        const error = Math.abs(y[pixel]![channel]! - wanted);
        worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
      }
    }
  }
  return worst;
}

describe('a group norm is right', () => {
  it.each([
    { channels: 1, groups: 1, height: 1, width: 2 },
    { channels: 32, groups: 32 },
    { channels: 37, groups: 37, batch: 2 },
    { channels: 60, groups: 4, height: 1, width: 1 },
    { channels: 96, groups: 32, silu: true, batch: 2 },
    { channels: 130, groups: 13, height: 23, width: 19 },
    { channels: 320, groups: 32, height: 64, width: 3, silu: true },
    { channels: 33, groups: 11, height: 150, width: 131 },
  ])('%j', async (sizes) => {
    const of = problem(sizes);
    expect(worstError(of, await run(device, of))).toBeLessThan(3e-6);
  });

  it.each([100, 1e4])(
    'a mean of %d beside a deviation of 1 costs no more than the inputs’ own digits',
    async (mean) => {
      const of = problem({ channels: 64, groups: 8, height: 40, width: 33 });
      of.x = of.x.map((value) => value + mean);
      expect(worstError(of, await run(device, of))).toBeLessThan(1e-5 + mean * 2 ** -23);
    },
  );

  it('a first pixel far from all others does no harm', async () => {
    const of = problem({ channels: 32, groups: 4, height: 30, width: 30 });
    of.x.fill(50, 0, 32);
    expect(worstError(of, await run(device, of))).toBeLessThan(3e-6 * 54); // where that pixel comes out
  });
});

it('a batch is its images', async () => {
  const of = problem({ channels: 64, groups: 16, height: 11, width: 13, batch: 3, silu: true });
  const all = await run(device, of);
  for (const image of [0, 2]) {
    const alone = await run(device, of, image, image + 1);
    expect(differingRows(alone, all.slice(image * 143, (image + 1) * 143))).toEqual([]);
  }
});

it('strips in bindings of 256 KiB change nothing', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  for (const sizes of [
    { channels: 96, groups: 32, height: 37, width: 41, batch: 2 },
    { channels: 33, groups: 3, height: 129, width: 37 },
  ]) {
    const of = problem(sizes);
    expect(differingRows(await run(narrow, of), await run(device, of))).toEqual([]);
  }
});

it('channels that groups do not share are refused', async () => {
  await expect(run(device, problem({ channels: 33, groups: 2 }))).rejects.toThrow(/33 channels in 2 groups/);
});
