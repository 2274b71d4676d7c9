// Kernels whose variants depend on the adapter's profile are linked and compiled for every profile and subgroup size. The tests of
// each kernel run those that this adapter supports; others would need hardware.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROFILES } from '../../src/gpu/adapter-profile.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Sizes, Tensor } from '../../src/gpu/tensor.ts';
import { attend } from '../../src/kernels/attend.ts';
import { attention } from '../../src/kernels/attention.ts';
import type { KvPages } from '../../src/kernels/batch.ts';
import { conv2d } from '../../src/kernels/conv2d.ts';
import { deltaState, gatedDelta } from '../../src/kernels/gated-delta.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { allocateMatrix, interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { sample } from '../../src/kernels/sample.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { batchOf, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Intel has 8 to 32 lanes, NVIDIA and Apple 32, AMD 32 or 64, SwiftShader 4. */
const SUBGROUPS: Disguise[] = [
  { portable: true },
  { lanes: 4, largestSubgroup: 4 },
  { lanes: 8, largestSubgroup: 32 },
  { lanes: 32, largestSubgroup: 32 },
  { lanes: 32, largestSubgroup: 64 },
];

/** The second driver compiles those that it can run: its compiler takes long, and the first one has seen the others. */
const compiled =
  process.env['SVC_VULKAN_DRIVER'] === 'swiftshader'
    ? SUBGROUPS.filter(({ portable, lanes }) => portable || lanes === 4)
    : SUBGROUPS;

const HEAD_DIMS = [40, 64, 128, 160, 256];

it.each(PROFILES.flatMap(({ name }) => compiled.map((as) => ({ ...as, profile: name }))))(
  'compile: %j',
  async (as) => {
    const on = disguise(device, as);
    const tape = record(on);
    tape.finish();
    await on.gpu.queue.onSubmittedWorkDone(); // errors of the dispatches recorded before are known then
    tape.destroy();
    expect(on.takeError()).toBeNull();
  },
);

const ONE = new Float32Array(1);
const CAPACITY: Sizes = { rows: 48, tiles: 3, tileRows: 16, sampled: 2, contextPages: 40 };

function record(on: Device): Tape {
  const tape = new Tape(on, CAPACITY);
  const owned = (shape: (number | string)[]): Tensor => tape.tensor(shape);
  for (const format of ['f32', 'f16', 'int8', 'int4'] satisfies FormatName[]) {
    const weight = matrix(on, format, 1);
    linear(owned(['rows', 130]), weight);
    linear(owned([4, 130]), weight);
    conv2d(owned([1, 9, 7, 130]), matrix(on, format, 3));
  }
  conv2d(owned([1, 9, 7, 130]), matrix(on, 'f32', 3, true));
  for (const dims of HEAD_DIMS) {
    const x = owned([1, 20, dims]);
    const heads = { x, first: 0, columns: dims };
    attend(heads, heads, heads, { heads: 1, dims });
  }
  const batch = batchOf(on, {});
  const region = upload(on, new Uint32Array(4));
  const table = { pages: region, places: region };
  const kv: KvPages = { kind: 'kv', table, keys: region, values: region, format: 'f16' };
  attention(owned(['rows', 256]), batch, { heads: 4, kvHeads: 2, dims: 64 }, kv, { window: null });
  sample(owned(['sampled', 1009]), batch);
  const delta = { keyHeads: 1, keyDims: 32, heads: 1, dims: 16, tiled: false };
  const [rates, offsets] = ['rates', 'offsets'].map((name) => on.tensor('weights', name, [1], ONE));
  const gates = { raw: owned(['rows', 2]), run: 1, rates: rates!, logarithms: true, offsets: offsets! };
  const slots = { store: { kind: 'slot', values: region } as const, first: 0, stride: deltaState(delta) };
  gatedDelta(owned(['rows', 80]), gates, delta, batch, slots);
  return tape;
}

function matrix(on: Device, format: FormatName, kernel: 1 | 3, winograd = false): Matrix {
  const parts = kernel === 1 ? interleaved('gate', 'up', 67) : stacked([{ name: 'w', rows: 134 }]);
  return allocateMatrix(on, FORMATS[format], 130, parts, { kernel, winograd });
}
