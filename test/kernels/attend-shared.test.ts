// Dense attention as GPUs compute it, against sums in f64; and bit by bit against itself, since a query must not depend on those beside it.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attendTile } from '../../src/kernels/attend-tile.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { expectRight, problem, run } from './attend-problem.ts';
import { differingRows, Random } from './compute.ts';

/** Software adapters compile each variant for seconds. */
vi.setConfig({ testTimeout: 300_000 });

let device: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  hardware = disguise(device, GPU);
});
afterAll(() => device.destroy());

const GPU: Disguise = { profile: 'discrete', portable: true, sharedTiles: 1 };

/** SwiftShader compiles in a quarter of llvmpipe's time: it runs more variants. */
const isFast = process.env['SVC_VULKAN_DRIVER'] === 'swiftshader';

it.each(isFast ? [40, 72, 96, 160, 256, 512] : [128])('heads of %i', async (dims) => {
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

it.runIf(isFast)('tensors above the binding limit, in ranges of queries and keys', async () => {
  const on = disguise(device, { ...GPU, bindingLimit: 32 << 10 });
  const of = problem({ queries: 75, keys: 75, dims: 40, causal: true });
  expectRight(of, await run(on, of));
});

it.each<{ as?: Disguise; dims?: number; queries?: number; heads?: number; tile: number | null }>([
  { tile: 64 },
  { queries: 30, tile: 32 },
  { heads: 2, queries: 70, as: { sharedTiles: 4 }, tile: 64 },
  { heads: 2, queries: 70, as: { sharedTiles: 5 }, tile: 32 },
  { as: { attendSums: 16 }, tile: 32 },
  { dims: 512, as: { attendSums: 16 }, tile: 32 },
  { as: { workgroupBytes: 9_000 }, tile: 32 },
  { as: { workgroupBytes: 8_000 }, tile: null },
  { dims: 544, tile: null },
  { as: { profile: 'cpu' }, tile: null },
])('queries of a workgroup: %j', ({ as, dims = 64, queries = 4096, heads = 10, tile }) => {
  const tape = new Tape(disguise(device, { ...GPU, ...as }), {});
  expect(attendTile(tape, { queries, keys: 77, heads, dims })?.queries ?? null).toBe(tile);
  tape.destroy();
});
