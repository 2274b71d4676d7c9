// Strip by strip and one after the other give the same bits, with far less memory for strips.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { conv2d } from '../../src/kernels/conv2d.ts';
import type { Conv2dOptions } from '../../src/kernels/convolution.ts';
import { groupnorm } from '../../src/kernels/groupnorm.ts';
import { normConv } from '../../src/kernels/norm-conv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { computeImages, packConv } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const NORM = { groups: 8, eps: 1e-6, silu: true };
const [CHANNELS, OUT] = [40, 33];

interface Case {
  shape: readonly [batch: number, height: number, width: number];
  options?: Conv2dOptions;
  stripRows?: number;
  winograd?: boolean;
}

function prepare(on: Device, [batch, height, width]: Case['shape'], winograd = false) {
  const random = new Random(height);
  const weights = packConv(
    on,
    { format: 'f16', out: OUT, channels: CHANNELS, kernel: 3, hasBias: true, winograd },
    random,
  );
  const held = (): Tensor => on.tensor('weights', 'norm', [CHANNELS], random.floats(CHANNELS));
  const norm = { weight: held(), bias: held() };
  const x = random.floats(batch * height * width * CHANNELS);
  return { matrix: weights.matrix, norm, x };
}

function run(
  on: Device,
  { shape, options = {}, stripRows, winograd }: Case,
  fused: boolean,
): Promise<Float32Array[]> {
  const { matrix, norm, x } = prepare(on, shape, winograd);
  return computeImages(on, (input) => {
    const image = input([...shape, CHANNELS], x);
    return fused
      ? normConv(image, norm, matrix, { ...NORM, ...options, stripRows })
      : conv2d(groupnorm(image, norm, NORM), matrix, options);
  });
}

const CASES: Case[] = [
  { shape: [1, 13, 7], stripRows: 1 },
  { shape: [3, 11, 9], stripRows: 4 },
  { shape: [2, 12, 10], stripRows: 5, options: { stride: 2, padding: 'after' } },
  { shape: [2, 9, 5], stripRows: 7, options: { upsample: true, activation: 'silu' } },
  { shape: [1, 6, 5] },
  { shape: [2, 13, 9], stripRows: 3, winograd: true },
  { shape: [2, 5, 7], stripRows: 4, winograd: true, options: { upsample: true } },
];

it.each(CASES)('%j', async (given) => {
  expect(differingRows(await run(device, given, true), await run(device, given, false))).toEqual([]);
});

it('the convolution after a norm in bindings of 256 KiB', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  for (const stripRows of [3, undefined]) {
    const given: Case = { shape: [2, 45, 41], stripRows };
    expect(differingRows(await run(narrow, given, true), await run(device, given, false))).toEqual([]);
  }
});

it('the convolution after a norm with few workgroups a dispatch', async () => {
  const few = disguise(device, { maxWorkgroups: 40 });
  for (const options of [{}, { upsample: true }]) {
    const given: Case = { shape: [2, 45, 41], options };
    expect(differingRows(await run(few, given, true), await run(device, given, false))).toEqual([]);
  }
});

it('the convolution after a norm holds a strip of the normalized image instead of all of it', () => {
  const arena = (stripRows?: number): number => {
    const on = disguise(device, { memoryBudget: 2 ** 29 + (stripRows ?? 0) });
    const { matrix, norm } = prepare(on, [1, 96, 64]);
    const tape = new Tape(on, {});
    const x = tape.keep(tape.tensor([1, 96, 64, CHANNELS]));
    tape.keep(normConv(x, norm, matrix, { ...NORM, stripRows }));
    tape.finish();
    on.arena.settle();
    return on.memory().arena;
  };
  const image = 96 * 64 * 64 * 4;
  expect(arena()).toBe(3 * image);
  expect(arena(8)).toBeLessThan(2.2 * image);
});
