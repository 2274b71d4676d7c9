// The comparison of products and attention on matrix units with those without, on a device whose fragments lanes compute.

import { expect, it } from 'vitest';
import { PROFILES } from '../../dist/gpu/adapter-profile.js';
import { Device } from '../../dist/gpu/device.js';
import { openDevice, readShader } from '../../dist/gpu/node.js';
import { Launches } from '../../scripts/gpu-check/launches.mjs';
import {
  compareMatrixAttention,
  compareMatrixProducts,
  differenceOf,
} from '../../scripts/gpu-check/matrix-products.mjs';

const UNIT = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false, emulated: true };

it('has a row of each, and results that differ as f16 does', async ({ skip }) => {
  const { gpu, summary, capabilities } = await openDevice({ safe: true, memoryBudget: 2 ** 28 });
  if (!capabilities.f16) skip();
  const profile = PROFILES.find(({ name }) => name === 'discrete');
  const device = new Device(gpu, { shaders: readShader, summary, profile, memoryBudget: 2 ** 28 });
  device.capabilities.matrixUnit = UNIT;
  const rows = [];
  const launches = new Launches(device, {
    sink: { row: (_, row) => rows.push(row) },
    small: true,
    earlier: {},
  });
  await compareMatrixProducts(launches, { shapes: [[96, 64]], formats: ['int4'] });
  await compareMatrixAttention(launches, [{ queries: 64, keys: 64, heads: 1, dims: 16 }]);
  expect(rows.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
  expect(rows.map(({ kernels }) => kernels)).toEqual([
    ['gemm.wgsl'],
    ['halve-rows.wgsl', 'gemm-matrix.wgsl'],
    ['attend-shared.wgsl'],
    ['halve-keys.wgsl', 'attend-matrix.wgsl'],
  ]);
  for (const { difference } of [rows[1], rows[3]]) {
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(0.003);
  }
  expect(device.capabilities.matrixUnit).toEqual(UNIT);
  device.destroy();
});

it('a result that is not a number differs infinitely', () => {
  expect(differenceOf([3, 4], [3, NaN])).toBe(Infinity);
  expect(differenceOf([3, 4], [3, 5])).toBeCloseTo(1 / Math.sqrt(12.5), 12);
});
