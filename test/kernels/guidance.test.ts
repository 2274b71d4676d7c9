import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { guidance, keepSpread, limitLength } from '../../src/kernels/guidance.ts';
import { repeat } from '../../src/kernels/repeat.ts';
import { scaleRows } from '../../src/kernels/scale-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload, type Input } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const run = async (record: (tape: Tape, input: Input) => Tensor): Promise<number[]> =>
  (await compute({ device, capacity: {}, sizes: {}, record })).flatMap((row) => [...row]);

function expectNear(y: number[], wanted: number[]): void {
  expect(y.length).toBe(wanted.length);
  wanted.forEach((value, i) => expectBelow(Math.abs(y[i]! - value), TOLERANCE * (1 + Math.abs(value))));
}

/** Odd sizes: one pixel, primes, more than one workgroup. */
const SHAPES = [
  [1, 1, 1],
  [3, 5, 4],
  [7, 11, 33],
] as const;

describe.each(SHAPES)('guidance of %i × %i × %i', (height, width, channels) => {
  const count = height * width * channels;
  const random = new Random(count);
  const negative = random.floats(count);
  const positive = random.floats(count);
  const both = Float32Array.from([...negative, ...positive]);
  const shape = [2, height, width, channels];

  it('repeats, scaled', async () => {
    const scalars = upload(device, Float32Array.of(9, 0.25));
    const y = await run((_, input) => repeat(input([1, height, width, channels], negative), 3, scalars, 1));
    expectNear(
      y,
      [...negative, ...negative, ...negative].map((value) => value * 0.25),
    );
  });

  it('guides', async () => {
    const scalars = upload(device, Float32Array.of(0, 7.5));
    const y = await run((_, input) => guidance(input(shape, both), scalars, 1));
    expectNear(
      y,
      [...positive].map((value, i) => negative[i]! + 7.5 * (value - negative[i]!)),
    );
  });

  const guided = (input: Input): { x: Tensor; y: Tensor } => {
    const x = input(shape, both);
    return { x, y: guidance(x, upload(device, Float32Array.of(3)), 0) };
  };
  const plain = [...positive].map((value, i) => negative[i]! + 3 * (value - negative[i]!));
  const length = (values: Iterable<number>) => Math.hypot(...values);
  const spread = (values: ArrayLike<number>) => {
    const all = Array.from(values);
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    return length(all.map((value) => value - mean)) / Math.sqrt(all.length - 1);
  };

  it.skipIf(count === 1)('keeps the spread', async () => {
    const y = await run((_, input) => {
      const { x, y: made } = guided(input);
      keepSpread(made, x, 0.7);
      return made;
    });
    const scale = 0.7 * (spread(positive) / spread(plain)) + 0.3;
    expectNear(
      y,
      plain.map((value) => value * scale),
    );
  });

  it.each([0.5, 100])('limits the length to %f times', async (share) => {
    const conditional = device.tensor('step', 'positive', [1, height, width, channels], positive);
    const y = await run((tape, input) => {
      const { y: made } = guided(input);
      limitLength(made, conditional.on(tape), share);
      return made;
    });
    const scale = Math.min(1, (share * length(positive)) / length(plain));
    expectNear(
      y,
      plain.map((value) => value * scale),
    );
  });

  it('rescales each of two images by itself', async () => {
    const other = Float32Array.from(both, (value, i) => 1 - value * (i % 3));
    const sides = [both, other].flatMap((one) => [one.slice(0, count), one.slice(count)]);
    const joined = [0, 2, 1, 3].flatMap((i) => [...sides[i]!]);
    const rescaled = (images: number, values: Float32Array, limit: boolean) =>
      run((tape, input) => {
        const x = input([2 * images, height, width, channels], values);
        const made = guidance(x, upload(device, Float32Array.of(3)), 0);
        const positives = device.tensor(
          'step',
          'positives',
          made.shape as number[],
          values.slice(values.length / 2),
        );
        if (limit) limitLength(made, positives.on(tape), 0.5);
        else keepSpread(made, x, 0.7);
        return made;
      });
    for (const limit of [false, true]) {
      const alone = [await rescaled(1, both, limit), await rescaled(1, other, limit)].flat();
      expect(await rescaled(2, Float32Array.from(joined), limit)).toEqual(alone);
    }
  });

  it('scales rows', async () => {
    const weights = random.floats(2 * height * width);
    const y = await run((_, input) => scaleRows(input(shape, both), upload(device, weights)));
    expectNear(
      y,
      [...both].map((value, i) => value * weights[Math.floor(i / channels)]!),
    );
  });
});

it('rows of a tensor above the binding limit are scaled', async () => {
  const random = new Random(7);
  const x = random.floats(30 * 30 * 3);
  const weights = random.floats(30 * 30);
  const narrow = disguise(device, { bindingLimit: 16 << 10 });
  const rows = await compute({
    device: narrow,
    capacity: {},
    sizes: {},
    record: (_, input) => scaleRows(input([1, 30, 30, 3], x), upload(narrow, weights)),
  });
  expectNear(
    rows.flatMap((row) => [...row]),
    [...x].map((value, i) => value * weights[Math.floor(i / 3)]!),
  );
});
