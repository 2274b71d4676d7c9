// Convolutions on matrix units, whose fragments lanes compute here: against sums in f64 of what f16 keeps of pixels and of the weights, and bit by
// bit against each other.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { conv2d } from '../../src/kernels/conv2d.ts';
import { channelNormConv, normConv } from '../../src/kernels/norm-conv.ts';
import { disguise, hasF16, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { problem, run, worstError, type Case, type Problem } from './conv-problem.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages, packConv } from './images.ts';
import { columnsOf, packStored, randomBlocks } from './stored.ts';
import { worstError as worstOfRows } from './worst-error.ts';

const USUAL: MatrixUnit = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false, emulated: true };

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** `sharedTiles` 1: the largest tiles that there are pixels for; left out: the smallest. */
function withUnit(as: Disguise = {}): Device {
  return disguise(device, { profile: 'discrete', portable: true, matrixUnit: USUAL, ...as });
}

/** A problem whose pixels, multiples of 2⁻⁷ below 1, are exact in f16. */
function exact(on: Device, given: Case): Problem {
  const of = problem(on, given);
  const random = new Random(of.x.length);
  return { ...of, x: of.x.map(() => (random.integer(255) - 127) / 128) };
}

// Pipelines take seconds to compile here: most tests share one.
const ALONE = { format: 'f16', hasBias: false } as const;
const BATCH: Case = { ...ALONE, batch: 3, height: 7, width: 5, channels: 70, out: 37 };

describe.skipIf(!(await hasF16()))('convolution on matrix units of an adapter with f16', () => {
  const cases: Case[] = [
    { ...ALONE, height: 5, width: 7, channels: 37, out: 133, batch: 2 },
    { ...ALONE, height: 3, width: 3, channels: 70, out: 5, kernel: 1 },
    { ...ALONE, height: 7, width: 5, channels: 4, out: 7, stride: 2, batch: 2 },
    { ...ALONE, height: 8, width: 6, channels: 33, out: 8, stride: 2, padding: 'after' },
  ];
  it.each(cases)('%j', async (given) => {
    const on = withUnit();
    const of = exact(on, given);
    expect(worstError(of, await run(on, of))).toBeLessThan(1);
  });

  it('finishes sums, of upsampled images and weights of 8 bits, too', async () => {
    const on = withUnit();
    const of = exact(on, {
      ...{ format: 'int8', height: 4, width: 3, channels: 40, out: 36, batch: 2 },
      ...{ upsample: { height: 7, width: 5 }, perImage: true, residual: true, activation: 'silu' },
    });
    expect(worstError(of, await run(on, of))).toBeLessThan(1);
  });

  it("has the fragments of Intel's units, multiplies k-quants in place, and rounds them and pixels to f16", async () => {
    const [n, k, pixels] = [35, 256, 6 * 7];
    const random = new Random(k);
    const of = randomBlocks('q4_k', n, k, random);
    const [x, skip] = [random.floats(pixels * k), random.floats(pixels * n)];
    const on = withUnit({
      family: 'intel-xe-hpg',
      matrixUnit: { ...USUAL, rows: 8, columns: 8, subgroup: 8 },
    });
    const matrix = packStored(on, 'q4_k', of);
    const y = await computeImages(on, (input) => {
      const residual = input([1, 6, 7, n], skip);
      return conv2d(input([1, 6, 7, k], x), matrix, { residual, inPlace: true });
    });
    const sums = y.map((row, i) => row.map((value, at) => value - skip[i * n + at]!));
    const weights = await columnsOf(device, packStored(device, 'q4_k', of));
    const error = worstOfRows(sums, x, Float32Array.from(weights.flatMap((column) => [...column])), k);
    expect(error).toBeLessThan(2 ** -11);
    expect(error).toBeGreaterThan(2 ** -18);
  });

  it('a batch is its images, in tiles of 64 and of 32 pixels', async () => {
    const of = problem(withUnit({ sharedTiles: 1 }), BATCH);
    const all = await run(withUnit({ sharedTiles: 1 }), of);
    const small = problem(withUnit(), BATCH);
    for (const image of [0, 2]) {
      const alone = await run(withUnit(), small, image, image + 1);
      expect(differingRows(alone, all.slice(image * 35, (image + 1) * 35))).toEqual([]);
    }
  });

  it('images beyond f16 and far below it are as exact as others, whatever stands beside them', async () => {
    const on = withUnit();
    const of = problem(on, BATCH);
    const factors = [2 ** 40, 1, 2 ** -100];
    const x = of.x.map((value, i) => value * factors[Math.floor(i / (35 * 70))]!);
    const [usual, far] = [await run(on, of), await run(on, { ...of, x })];
    const expected = usual.map((row, i) => row.map((value) => value * factors[Math.floor(i / 35)]!));
    expect(differingRows(far, expected)).toEqual([]);
    expect(new Set(usual.map(([first]) => first)).size).toBeGreaterThan(100);
    const none = await run(on, { ...of, x: new Float32Array(x.length) });
    expect(none.every((row) => row.every((value) => value === 0))).toBe(true);
  });

  it('strips where a binding takes 256 KiB are parts of the whole', async () => {
    const narrow = withUnit({ bindingLimit: 256 << 10 });
    const given: Case = { ...ALONE, height: 31, width: 29, channels: 33, out: 64, batch: 2, stride: 2 };
    const y = await run(narrow, exact(narrow, given));
    const whole = exact(withUnit(), given);
    expect(differingRows(y, await run(withUnit(), whole))).toEqual([]);
    expect(worstError(whole, y)).toBeLessThan(1);
  });

  it('is what adapters use that have a unit, unless sums must have one order', () => {
    const on = withUnit();
    expect(kernelsOf(on)).toEqual([
      'image-largest.wgsl',
      'image-factors.wgsl',
      'halve-pixels.wgsl',
      'conv2d-matrix.wgsl',
    ]);
    expect(kernelsOf(on, { isNormed: true }).slice(2)).toEqual([
      'norm-factors.wgsl',
      'groupnorm.wgsl',
      'conv2d-matrix.wgsl',
    ]);
    expect(kernelsOf(withUnit({ deterministic: true }))).toEqual(['conv2d.wgsl']);
  });

  it('offers its tiles to tuning', async () => {
    const on = withUnit({ workgroupBytes: 48 << 10 });
    const places = await on.tuning.trying(0, (trial) => {
      kernelsOf(on);
      return Promise.resolve(trial.places);
    });
    expect(places).toBe(3);
  });
});

/** Names of the kernels that are recorded for a convolution. */
function kernelsOf(on: Device, { isNormed = false } = {}): string[] {
  const channels = 8;
  const { weights } = problem(on, { ...ALONE, height: 4, width: 4, channels, out: 7 });
  const tape = new Tape(on, {});
  const x = tape.tensor([1, 4, 4, channels]);
  const vector = tape.tensor([channels]);
  tape.keep(
    isNormed
      ? normConv(x, { weight: vector, bias: vector }, weights.matrix, { groups: 2, eps: 1e-6 })
      : conv2d(x, weights.matrix),
  );
  tape.finish();
  return tape.encodables({}).map(({ name }) => name);
}

describe.skipIf(!(await hasF16()))('a convolution on matrix units after a norm', () => {
  const [channels, out, batch, height, width] = [40, 33, 2, 13, 7];

  interface Given {
    /** Magnitude of the norm's weights. */
    size?: number;
    stripRows?: number;
    norm?: 'groups' | 'channels';
    images?: readonly [from: number, to: number];
  }

  function normed(
    on: Device,
    { size = 1, stripRows, norm = 'groups', images: [from, to] = [0, batch] }: Given,
  ) {
    const random = new Random(channels);
    const { matrix } = packConv(on, { ...ALONE, out, channels, kernel: 3 }, random);
    const vector = (): Tensor =>
      on.tensor(
        'weights',
        'norm',
        [channels],
        random.floats(channels).map((value) => value * size),
      );
    const [weight, bias] = [vector(), vector()];
    const x = random.floats(batch * height * width * channels);
    const each = height * width * channels;
    return computeImages(on, (input) => {
      const image = input([to - from, height, width, channels], x.subarray(from * each, to * each));
      return norm === 'groups'
        ? normConv(image, { weight, bias }, matrix, { groups: 8, eps: 1e-6, silu: true, stripRows })
        : channelNormConv(image, { weight, bias, activation: 'silu' }, matrix, { stripRows });
    });
  }

  it.each([
    ['groups', 1],
    ['groups', 1e7],
    ['channels', 1],
  ] as const)('over %s with weights of up to %d it is right', async (norm, size) => {
    const [y, expected] = [await normed(withUnit(), { norm, size }), await normed(device, { norm, size })];
    const largest = Math.max(...expected.map((row) => Math.max(...row.map(Math.abs))));
    y.forEach((row, i) =>
      row.forEach((value, at) => expectBelow(Math.abs(value - expected[i]![at]!) / largest, 2 ** -10)),
    );
  });

  it('strips and single images are parts of the whole', async () => {
    const all = await normed(withUnit(), {});
    expect(differingRows(await normed(withUnit(), { stripRows: 3 }), all)).toEqual([]);
    const second = await normed(withUnit(), { images: [1, 2] });
    expect(differingRows(second, all.slice(height * width))).toEqual([]);
  });
});
