// The comparison of products of activations in 8 bits with those of floats, on a device with a GPU's profile.

import { expect, it } from 'vitest';
import { PROFILES } from '../../dist/gpu/adapter-profile.js';
import { Device } from '../../dist/gpu/device.js';
import { openDevice, readShader } from '../../dist/gpu/node.js';
import { compareIntegerProducts } from '../../scripts/gpu-check/integer-products.mjs';
import { Launches } from '../../scripts/gpu-check/launches.mjs';

it('gpu-check has a row of each integer format for decode steps, and none on adapters without them', async () => {
  const { gpu, summary } = await openDevice({ safe: true, memoryBudget: 2 ** 28 });
  const general = PROFILES.find(({ name }) => name === 'discrete');
  const rowsWith = async (profile) => {
    const device = new Device(gpu, { shaders: readShader, summary, profile, memoryBudget: 2 ** 28 });
    const rows = [];
    const sink = { row: (_, row) => rows.push(row) };
    await compareIntegerProducts(new Launches(device, { sink, small: true, earlier: {} }));
    return rows.map(({ rows: count, kernels, error }) => [count, ...(kernels ?? [error])]);
  };
  expect(await rowsWith({ ...general, matvecRows: 1 })).toEqual([
    [1, 'matvec.wgsl'],
    [16, 'matvec.wgsl'],
    [1, 'quantize-rows.wgsl', 'matvec-int8.wgsl'],
    [16, 'quantize-rows.wgsl', 'matvec-int8.wgsl'],
  ]);
  expect(await rowsWith({ ...general, matvecRows: null })).toEqual([]);
  gpu.destroy();
});
