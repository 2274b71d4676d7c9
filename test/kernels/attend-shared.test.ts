// Dense attention as GPUs compute it, against sums in f64; and bit by bit against itself, since a query must not depend on those beside it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attend } from '../../src/kernels/attend.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { expectRight, problem, run } from './attend-problem.ts';
import { differingRows, Random } from './compute.ts';

let device: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  hardware = disguise(device, GPU);
});
afterAll(() => device.destroy());

const GPU: Disguise = { profile: 'discrete', portable: true, sharedTiles: 1 };

// SwiftShader compiles in a quarter of the time: it runs more of the divisions of heads among lanes.
const HEADS = process.env['SVC_VULKAN_DRIVER'] === 'swiftshader' ? [72, 96, 160, 256, 512] : [40, 128];

it.each(HEADS)('heads of %i', async (dims) => {
  const of = problem({ queries: 19, keys: 4 * Math.min(dims, 32) + 5, dims, heads: 1 });
  expectRight(of, await run(hardware, of));
});

it('a query does not depend on the tile, nor on the queries beside it', async () => {
  const of = problem({ queries: 70, keys: 77, dims: 64, heads: 1 });
  const all = await run(hardware, of);
  expectRight(of, all);
  const few = { ...of, queries: 5, q: of.q.subarray(0, 5 * 64) };
  expect(differingRows(await run(hardware, few), all.slice(0, 5))).toEqual([]);
});

it('keys of each item, a bias, causal, shared heads and another scale; an item is the same alone, and so are parts of its queries', async () => {
  const items = 3;
  const [queries, keys] = [37, 70];
  const bias = new Random(5).floats((queries + keys - 1) * 6);
  const of = problem({
    ...{ items, queries, keys, dims: 40, heads: 6, kvHeads: 2 },
    ...{ keyCounts: [70, 1, 33], causal: true, scale: 0.3, bias },
  });
  const all = await run(hardware, of);
  expectRight(of, all);
  for (const item of [0, 1, 2])
    expect(
      differingRows(await run(hardware, of, item, item + 1), all.slice(item * 37, (item + 1) * 37)),
    ).toEqual([]);
  expect(differingRows(await run(hardware, { ...of, mostWork: 1 }), all)).toEqual([]);
});

it('tensors above the binding limit, in ranges of queries and keys', async () => {
  const on = disguise(device, { ...GPU, bindingLimit: 32 << 10 });
  const of = problem({ queries: 75, keys: 75, dims: 40, causal: true });
  expectRight(of, await run(on, of));
});

it.each([
  { dims: 64, queries: 70, as: {}, shader: 'attend-shared.wgsl', groups: 2 },
  { dims: 64, queries: 30, as: {}, shader: 'attend-shared.wgsl', groups: 1 },
  { dims: 64, queries: 70, as: { sharedTiles: 5 }, shader: 'attend-shared.wgsl', groups: 3 },
  { dims: 64, queries: 70, as: { attendSums: 16 }, shader: 'attend-shared.wgsl', groups: 3 },
  { dims: 64, queries: 70, as: { workgroupBytes: 9_000 }, shader: 'attend-shared.wgsl', groups: 3 },
  { dims: 64, queries: 70, as: { workgroupBytes: 8_000 }, shader: 'attend-plain.wgsl', groups: 70 },
  { dims: 544, queries: 70, as: {}, shader: 'attend-plain.wgsl', groups: 70 },
  { dims: 64, queries: 70, as: { profile: 'cpu' as const }, shader: 'attend-plain.wgsl', groups: 70 },
])('tiles that fit: heads of $dims, $queries queries, $as', ({ dims, queries, as, shader, groups }) => {
  const tape = new Tape(disguise(device, { ...GPU, ...as }), {});
  const x = tape.tensor([1, queries, dims]);
  attend({ x, first: 0 }, { x, first: 0 }, { x, first: 0 }, { heads: 1, dims });
  tape.finish();
  expect(tape.encodables({}).map((one) => [one.name, one.groups])).toEqual([[shader, [groups, 1, 1]]]);
  tape.destroy();
});
