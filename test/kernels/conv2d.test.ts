// Convolutions against sums in f64, and bit by bit against each other where batch, strips and variants must not matter.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { differingRows } from './compute.ts';
import { expectRight, problem, run, worstError, type Case } from './conv-problem.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

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
    [1, 'edges'],
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
    { activation: 'leaky-relu' },
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
  { name: 'tiles of 64 pixels', as: { profile: 'discrete', sharedTiles: 1 }, format: 'f16' },
  { name: 'tiles of 16 pixels', as: { profile: 'discrete', portable: true }, format: 'int8' },
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

it.each(VARIANTS)('$name: copies of the nearest pixels stand around an image', ({ as, format }) =>
  expectRight(disguise(device, as), { format, height: 7, width: 5, channels: 70, out: 37, padding: 'edges' }),
);

describe('strips where a binding takes 256 KiB', () => {
  const cases: Case[] = [
    { height: 40, width: 37, channels: 70, out: 33, perImage: true, residual: true, batch: 2 },
    { height: 40, width: 37, channels: 33, out: 64, residual: true, inPlace: true },
    { height: 47, width: 45, channels: 33, out: 64, stride: 2, batch: 2 },
    { height: 50, width: 45, channels: 33, out: 64, stride: 2, padding: 'after' },
    { height: 31, width: 29, channels: 33, out: 33, upsample: { height: 61, width: 57 } },
    { height: 40, width: 37, channels: 70, out: 33, padding: 'edges' },
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

it('an assertion has the numbers of operands that do not fit together', async () => {
  const of = problem(device, { height: 4, width: 3, channels: 5, out: 7 });
  await expect(run(device, { ...of, channels: 6 })).rejects.toThrow(/x has 6 channels, the weight 5/);
  const wrong = { ...of, residual: true, size: { height: 3, width: 4 } };
  await expect(run(device, wrong)).rejects.toThrow(/residual is \[1, 3, 4, 7\], not \[1, 4, 3, 7\]/);
});
