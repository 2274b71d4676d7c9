// Convolutions against sums in f64, and bit by bit against each other where batch, strips and variants must not matter.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import type { Columns } from '../../src/kernels/columns.ts';
import { conv2d, type Conv2dOptions } from '../../src/kernels/conv2d.ts';
import type { Format } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { differingRows, Random, type Input } from './compute.ts';
import { computeImages, packConv, type ConvWeights } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Case {
  format?: Format;
  batch?: number;
  height: number;
  width: number;
  channels: number;
  out: number;
  kernel?: 1 | 3;
  hasBias?: boolean;
  stride?: 1 | 2;
  padding?: 'same' | 'after';
  upsample?: boolean | { height: number; width: number };
  perImage?: boolean;
  /** What is added per image stands from this column on, others around it. */
  addedFrom?: number;
  residual?: boolean;
  inPlace?: boolean;
  activation?: 'silu' | 'relu';
}

interface Problem extends Required<Omit<Case, 'activation'>> {
  activation: 'silu' | 'relu' | undefined;
  weights: ConvWeights;
  x: Float32Array;
  added: Float32Array;
  skip: Float32Array;
  seen: { height: number; width: number };
  size: { height: number; width: number };
}

function problem(on: Device, given: Case): Problem {
  const of = {
    format: 'f32' as const,
    batch: 1,
    kernel: 3 as const,
    hasBias: true,
    stride: 1 as const,
    padding: 'same' as const,
    upsample: false,
    perImage: false,
    addedFrom: 0,
    residual: false,
    inPlace: false,
    activation: undefined,
    ...given,
  };
  const { batch, height, width, channels, out, kernel, upsample } = of;
  const random = new Random(height * 1000 + channels);
  const seen =
    typeof upsample === 'object'
      ? upsample
      : upsample
        ? { height: 2 * height, width: 2 * width }
        : { height, width };
  const around = kernel === 1 ? 0 : of.padding === 'same' ? 2 : 1;
  const extent = (size: number) => Math.floor((size + around - kernel) / of.stride) + 1;
  const size = { height: extent(seen.height), width: extent(seen.width) };
  return {
    ...of,
    weights: packConv(on, of, random),
    x: random.floats(batch * height * width * channels),
    added: random.floats(batch * out),
    skip: random.floats(batch * size.height * size.width * out),
    seen,
    size,
  };
}

/** Images `from` to `to` of a problem. */
function run(on: Device, of: Problem, from = 0, to: number = of.batch): Promise<Float32Array[]> {
  const { height, width, channels, out, size, stride, padding, upsample, inPlace, activation } = of;
  const pixels = size.height * size.width;
  const batch = to - from;
  return computeImages(on, (input) => {
    const x = input(
      [batch, height, width, channels],
      of.x.subarray(from * height * width * channels, to * height * width * channels),
    );
    const options: Conv2dOptions = { stride, padding, upsample, inPlace, activation };
    if (of.perImage) options.perImage = perImageOf(of, input, from, to);
    if (of.residual) {
      const values = of.skip.subarray(from * pixels * out, to * pixels * out);
      options.residual = input([batch, size.height, size.width, out], values);
    }
    return conv2d(x, of.weights.matrix, options);
  });
}

function perImageOf(
  { added, addedFrom, out }: Problem,
  input: Input,
  from: number,
  to: number,
): Tensor | Columns {
  if (addedFrom === 0) return input([to - from, out], added.subarray(from * out, to * out));
  const columns = addedFrom + out + 4;
  const wide = new Float32Array((to - from) * columns).fill(NaN);
  for (let i = from; i < to; i++) {
    wide.set(added.subarray(i * out, (i + 1) * out), (i - from) * columns + addedFrom);
  }
  return { x: input([to - from, columns], wide), first: addedFrom };
}

/** Rounding of at most a few ulp of the largest partial sum. */
const ROUNDING = 2e-6;

/** The largest error, in units of what is allowed; of outputs spread over all of them where there are many. */
function worstError(of: Problem, y: Float32Array[]): number {
  const { batch, out, size } = of;
  const total = batch * size.height * size.width * out;
  const step = Math.max(1, Math.floor(total / 20_000));
  let worst = 0;
  for (let i = 0; i < total; i += step) {
    const [pixel, column] = [Math.floor(i / out), i % out];
    const wanted = outputOf(of, pixel, column);
    const error = Math.abs(y[pixel]![column]! - wanted.value) / (ROUNDING * (wanted.size + 0.01));
    worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
  }
  return worst;
}

/** One output, and the sum of its terms' sizes, by which rounding is measured. */
function outputOf(of: Problem, pixel: number, column: number): { value: number; size: number } {
  const { size, kernel, stride, seen, height, width, channels, out, weights } = of;
  const image = Math.floor(pixel / (size.height * size.width));
  const row = Math.floor(pixel / size.width) % size.height;
  const pad = kernel === 3 && of.padding === 'same' ? 1 : 0;
  const terms: number[] = [weights.bias?.[column] ?? 0];
  if (of.perImage) terms.push(of.added[image * out + column]!);
  if (of.residual) terms.push(of.skip[pixel * out + column]!);
  for (let tap = 0; tap < kernel * kernel; tap++) {
    const y = row * stride - pad + Math.floor(tap / kernel);
    const x = (pixel % size.width) * stride - pad + (tap % kernel);
    if (y < 0 || x < 0 || y >= seen.height || x >= seen.width) continue;
    const [fromY, fromX] = [Math.floor((y * height) / seen.height), Math.floor((x * width) / seen.width)];
    const at = ((image * height + fromY) * width + fromX) * channels;
    for (let c = 0; c < channels; c++) {
      terms.push(of.x[at + c]! * weights.values[(column * channels + c) * kernel * kernel + tap]!);
    }
  }
  const sum = terms.reduce((a, b) => a + b, 0);
  const sizes = terms.reduce((a, b) => a + Math.abs(b), 0);
  if (of.activation === 'relu') return { value: Math.max(sum, 0), size: sizes };
  // SiLU's slope is at most 1.1; exp is off by up to 3 + 2 |x| ulp.
  return of.activation === 'silu'
    ? { value: sum / (1 + Math.exp(-sum)), size: 2 * sizes }
    : { value: sum, size: sizes };
}

async function expectRight(on: Device, given: Case): Promise<void> {
  const of = problem(on, given);
  expect(worstError(of, await run(on, of)), JSON.stringify(given)).toBeLessThan(1);
}

describe('the adapter as it is', () => {
  it.each(['f32', 'f16', 'bf16', 'int8', 'int4'] as const)('%s', async (format) => {
    await expectRight(device, { format, height: 5, width: 7, channels: 37, out: 67 });
    await expectRight(device, { format, height: 3, width: 3, channels: 70, out: 5, kernel: 1 });
  });

  it.each([
    [1, 1],
    [1, 17],
    [13, 1],
    [2, 2],
    [11, 23],
  ])('images of %i × %i', async (height, width) => {
    await expectRight(device, { height, width, channels: 3, out: 4, batch: 2 });
    await expectRight(device, { height, width, channels: 33, out: 31, kernel: 1, batch: 2 });
  });

  it.each([
    [4, 131],
    [129, 3],
    [9, 32],
    [1, 1],
  ])('%i channels to %i', (channels, out) => expectRight(device, { height: 6, width: 5, channels, out }));

  it.each([
    [1, 'same'],
    [2, 'same'],
    [2, 'after'],
    [1, 'after'],
  ] as const)('stride %i, padding %s', async (stride, padding) => {
    for (const [height, width] of [
      [8, 6],
      [7, 5],
      [2, 3],
    ] as const) {
      await expectRight(device, { height, width, stride, padding, channels: 5, out: 7, batch: 2 });
    }
  });

  it.each([true, { height: 7, width: 5 }, { height: 11, width: 6 }, { height: 4, width: 3 }])(
    'upsampled: %j',
    (upsample) => expectRight(device, { height: 4, width: 3, upsample, channels: 5, out: 7, batch: 2 }),
  );

  const epilogues: Partial<Case>[] = [
    { hasBias: false },
    { perImage: true },
    { perImage: true, addedFrom: 8, out: 36 },
    { residual: true },
    { hasBias: false, residual: true },
    { activation: 'silu' },
    { activation: 'relu' },
    { perImage: true, residual: true, activation: 'silu' },
    { residual: true, inPlace: true },
  ];
  it.each(epilogues)('%j', (epilogue) =>
    expectRight(device, { height: 5, width: 6, channels: 7, out: 37, batch: 3, ...epilogue }),
  );
});

const VARIANTS: { name: string; as: Disguise; format: Format }[] = [
  { name: 'the adapter as it is', as: {}, format: 'f16' },
  { name: 'subgroups of four', as: { lanes: 4 }, format: 'f32' },
  { name: 'no subgroups', as: { portable: true }, format: 'int4' },
  { name: 'K split, no subgroups', as: { hardware: true, portable: true }, format: 'int8' },
];

it.each(VARIANTS)('$name: right, and a batch is its images', async ({ as, format }) => {
  const on = disguise(device, as);
  const of = problem(on, {
    format,
    batch: 3,
    height: 7,
    width: 5,
    channels: 70,
    out: 37,
    perImage: true,
    residual: true,
  });
  const all = await run(on, of);
  expect(worstError(of, all)).toBeLessThan(1);
  for (const image of [0, 2]) {
    const alone = await run(on, of, image, image + 1);
    expect(differingRows(alone, all.slice(image * 35, (image + 1) * 35))).toEqual([]);
  }
});

describe('strips where a binding takes 256 KiB', () => {
  const cases: Case[] = [
    { height: 40, width: 37, channels: 70, out: 33, perImage: true, residual: true, batch: 2 },
    { height: 40, width: 37, channels: 33, out: 64, residual: true, inPlace: true },
    { height: 47, width: 45, channels: 33, out: 64, stride: 2, batch: 2 },
    { height: 50, width: 45, channels: 33, out: 64, stride: 2, padding: 'after' },
    { height: 31, width: 29, channels: 33, out: 33, upsample: { height: 61, width: 57 } },
    { height: 64, width: 47, channels: 5, out: 40, kernel: 1, hasBias: false },
  ];
  it.each(cases)('%j', async (given) => {
    const narrow = disguise(device, { bindingLimit: 256 << 10 });
    const of = problem(narrow, given);
    const y = await run(narrow, of);
    expect(worstError(of, y)).toBeLessThan(1);
    expect(differingRows(y, await run(device, problem(device, given)))).toEqual([]);
  });

  it('a row too wide is refused', async () => {
    const narrow = disguise(device, { bindingLimit: 64 << 10 });
    const of = problem(narrow, { height: 4, width: 200, channels: 5, out: 7 });
    await expect(run(narrow, of)).rejects.toThrow(/conv2d: a row of \[1, 4, 200, 7\]/);
  });
});

it('what does not fit together is an assertion with the numbers in it', async () => {
  const of = problem(device, { height: 4, width: 3, channels: 5, out: 7 });
  await expect(run(device, { ...of, channels: 6 })).rejects.toThrow(/x has 6 channels, the weight 5/);
  const wrong = { ...of, residual: true, size: { height: 3, width: 4 } };
  await expect(run(device, wrong)).rejects.toThrow(/residual is \[1, 3, 4, 7\], not \[1, 4, 3, 7\]/);
});
