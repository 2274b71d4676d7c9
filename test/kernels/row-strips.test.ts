// Rows beyond a binding or a dispatch are processed in pieces with the same bits.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { layernorm } from '../../src/kernels/layernorm.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { computeImages, packConv } from './images.ts';

const [ROWS, K, COLUMNS] = [1001, 40, 36];

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Three rows of workgroups at most reach 48 rows; 16 KiB hold 64. */
const WAYS: Disguise[] = [{ maxWorkgroups: 3 }, { bindingLimit: 16 << 10 }];

it.each(WAYS)('matmul in strips with %j', async (as) => {
  const run = (on: Device) => {
    const random = new Random(1);
    const shape = { format: 'f16', out: COLUMNS, channels: K, kernel: 1, hasBias: true } as const;
    const { matrix } = packConv(on, shape, random);
    const x = random.floats(ROWS * K);
    return computeImages(on, (input) => linear(input([ROWS, K], x), matrix));
  };
  expect(differingRows(await run(disguise(device, as)), await run(device))).toEqual([]);
});

it.each(WAYS)('a workgroup a row in strips with %j', async (as) => {
  const x = new Random(2).floats(100 * K);
  const run = (on: Device) => computeImages(on, (input) => layernorm(input([100, K], x), null, 1e-5));
  const given = 'maxWorkgroups' in as ? { maxWorkgroups: 50 } : as;
  expect(differingRows(await run(disguise(device, given)), await run(device))).toEqual([]);
});
