// The comparison of products, convolutions and attention on matrix units with those without, on a device whose fragments lanes compute.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { PROFILES } from '../../dist/gpu/adapter-profile.js';
import { Device } from '../../dist/gpu/device.js';
import { openDevice, readShader } from '../../dist/gpu/node.js';
import { Launches } from '../../scripts/gpu-check/launches.mjs';
import {
  compareMatrixAttention,
  compareMatrixConvolutions,
  compareMatrixProducts,
  differenceOf,
} from '../../scripts/gpu-check/matrix-products.mjs';

const UNIT = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false, emulated: true };
const COMPARED = {
  products: {
    compare: (launches) => compareMatrixProducts(launches, { shapes: [[96, 64]], formats: ['int4'] }),
    kernels: [['gemm.wgsl'], ['halve-rows.wgsl', 'gemm-matrix.wgsl']],
  },
  convolutions: {
    compare: (launches) => compareMatrixConvolutions(launches, [[32, 5, 3]]),
    kernels: [
      ['conv2d-shared.wgsl'],
      ['image-largest.wgsl', 'image-factors.wgsl', 'halve-pixels.wgsl', 'conv2d-matrix.wgsl'],
    ],
  },
  'attention of images': {
    compare: (launches) => compareMatrixAttention(launches, [{ queries: 64, keys: 64, heads: 1, dims: 16 }]),
    kernels: [['attend-shared.wgsl'], ['halve-keys.wgsl', 'attend-matrix.wgsl']],
  },
};

let opened;
beforeAll(async () => void (opened = await openDevice({ safe: true, memoryBudget: 2 ** 28 })));
afterAll(() => opened.destroy());
beforeEach(({ skip }) => void (opened.capabilities.f16 || skip()));

it.each(Object.keys(COMPARED))(
  'gpu-check has a row of each kernel of %s, with results that differ as f16 does',
  async (name) => {
    const { compare, kernels } = COMPARED[name];
    const profile = PROFILES.find((one) => one.name === 'discrete');
    const { gpu, summary } = opened;
    const device = new Device(gpu, { shaders: readShader, summary, profile, memoryBudget: 2 ** 28 });
    device.capabilities.matrixUnit = UNIT;
    const rows = [];
    const sink = { row: (_, row) => rows.push(row) };
    await compare(new Launches(device, { sink, small: true, earlier: {} }));
    expect(rows.map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(rows.map((row) => row.kernels)).toEqual(kernels);
    expect(rows[1].difference).toBeGreaterThan(0);
    expect(rows[1].difference).toBeLessThan(0.003);
    expect(device.capabilities.matrixUnit).toEqual(UNIT);
  },
);

it('a result of gpu-check that is not a number differs infinitely', () => {
  expect(differenceOf([3, 4], [3, NaN])).toBe(Infinity);
  expect(differenceOf([3, 4], [3, 5])).toBeCloseTo(1 / Math.sqrt(12.5), 12);
});
