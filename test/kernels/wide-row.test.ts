// Which kernel norms a row and rotates its heads: it follows from the profile and from the row's width, never from the number of rows.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { layernorm } from '../../src/kernels/layernorm.ts';
import { rmsnorm } from '../../src/kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../src/kernels/rmsnorm-add.ts';
import { rmsnormColumns } from '../../src/kernels/rmsnorm-columns.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { rowKernel } from '../../src/kernels/wide-row.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const NAMES = { narrow: 'narrow.wgsl', wide: 'wide.wgsl' };

it('wide rows have more lanes, and four quads a lane', () => {
  const tape = new Tape(disguise(device, { profile: 'discrete' }), {});
  const lanes = (columns: number) => rowKernel(tape, NAMES, columns / 4).params['LANES'] ?? 32;
  expect([64, 128, 160, 1024, 1056, 2048, 4096, 16384].map(lanes)).toEqual([
    32, 32, 64, 64, 128, 128, 256, 256,
  ]);
});

it.each([
  ['cpu', false, ['rmsnorm.wgsl', 'layernorm.wgsl', 'rmsnorm-add.wgsl', 'rmsnorm-columns.wgsl']],
  ['discrete', true, ['rmsnorm.wgsl', 'layernorm.wgsl', 'rmsnorm-add.wgsl', 'rmsnorm-columns.wgsl']],
  [
    'discrete',
    false,
    ['rmsnorm-wide.wgsl', 'layernorm-wide.wgsl', 'rmsnorm-add-wide.wgsl', 'rmsnorm-columns-wide.wgsl'],
  ],
] as const)('kernels of the profile %s, plain: %s', (profile, plain, names) => {
  const on = disguise(device, { profile });
  const tape = new Tape(on, { rows: 3 }, { plain });
  const weight = on.tensor('weights', 'weight', [1024], new Float32Array(1024));
  const x = tape.tensor(['rows', 1024]);
  const y = layernorm(rmsnorm(x, weight, 1e-5), null, 1e-5);
  rmsnormColumns(rmsnormAdd(y, weight, 1e-5, null, x), 0, weight, 1e-5);
  tape.finish();
  expect(tape.encodables({ rows: 3 }).map(({ name }) => name)).toEqual(names);
  tape.destroy();
});

it.each([
  ['cpu', false, 'rope-kv.wgsl'],
  ['discrete', true, 'rope-kv.wgsl'],
  ['discrete', false, 'rope-kv-lanes.wgsl'],
] as const)('heads with the profile %s, plain: %s, have the kernel %s', (profile, plain, name) => {
  const on = disguise(device, { profile });
  const tape = new Tape(on, { rows: 1 }, { plain });
  const region = upload(on, new Uint32Array(32 * 8));
  const table = { pages: region, places: region };
  const kv = { kind: 'kv', table, format: 'f32', keys: region, values: region } as const;
  ropeKv(tape.tensor(['rows', 24]), null, { heads: 1, kvHeads: 1, dims: 8 }, kv, null);
  tape.finish();
  expect(tape.encodables({ rows: 1 }).map((step) => step.name)).toEqual([name]);
  tape.destroy();
});
