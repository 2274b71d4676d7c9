// Dense attention against sums in f64, and bit by bit against itself, because an image must not depend on its batch.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attend } from '../../src/kernels/attend.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { expectRight, problem, run } from './attend-problem.ts';
import { differingRows, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const HEADS = [3, 4, 8, 10, 12, 24, 32, 40, 64, 72, 80, 96, 120, 128, 160, 192, 256, 320];

describe.each([
  { name: 'the adapter as it is', as: {} },
  { name: 'no subgroups', as: { portable: true } },
])('$name', ({ as }) => {
  it.each(HEADS)('heads of %i', async (dims) => {
    const of = problem({ queries: 19, keys: 37, dims });
    expectRight(of, await run(disguise(device, as), of));
  });

  it.each([512, 1024])('one head of %i', async (dims) => {
    const of = problem({ queries: 17, keys: 33, dims, heads: 1 });
    expectRight(of, await run(disguise(device, as), of));
  });

  it.each([1, 2, 31, 32, 33, 77])('%i keys', async (keys) => {
    const of = problem({ queries: 5, keys, dims: 40 });
    expectRight(of, await run(disguise(device, as), of));
  });

  it.each([5, 38])('a bias by distance, %i queries', async (queries) => {
    const of = problem({
      queries,
      keys: 41,
      dims: 12,
      heads: 3,
      items: 2,
      scale: 1,
      bias: new Random(queries).floats((queries + 40) * 3),
    });
    expectRight(of, await run(disguise(device, as), of));
  });

  it.each([1, 16, 53])('causal, %i tokens', async (tokens) => {
    const of = problem({ queries: tokens, keys: tokens, dims: 64, causal: true, items: 2 });
    expectRight(of, await run(disguise(device, as), of));
  });

  it('keys of each item, shared heads and another scale; an item is the same alone', async () => {
    const on = disguise(device, as);
    const of = problem({
      items: 3,
      queries: 18,
      keys: 70,
      dims: 40,
      heads: 6,
      kvHeads: 2,
      keyCounts: [70, 1, 33],
      scale: 0.3,
    });
    const all = await run(on, of);
    expectRight(of, all);
    for (const item of [0, 1, 2])
      expect(differingRows(await run(on, of, item, item + 1), all.slice(item * 18, (item + 1) * 18))).toEqual(
        [],
      );
  });

  it('tensors above the binding limit, in ranges of queries and keys', async () => {
    const on = disguise(device, { ...as, bindingLimit: 64 << 10 });
    const large = { items: 2, queries: 151, keys: 151, dims: 40, heads: 4 };
    for (const more of [{ keyCounts: [151, 40] }, { causal: true }]) {
      const of = problem({ ...large, ...more });
      expectRight(of, await run(on, of));
    }
  });

  it('more queries than a dispatch has workgroups, in ranges', async () => {
    const on = disguise(device, { ...as, maxWorkgroups: 4 });
    const of = problem({ items: 2, queries: 130, keys: 33, dims: 40 });
    expectRight(of, await run(on, of));
  });

  it('more work than a segment may have, by items and by queries, gives the same', async () => {
    const on = disguise(device, as);
    const of = { items: 3, queries: 70, keys: 45, dims: 24, heads: 2 };
    const item = of.queries * of.keys * of.dims * of.heads;
    const more = { keyCounts: [45, 1, 33], causal: true };
    const whole = await run(on, problem({ ...of, ...more }));
    for (const mostWork of [2 * item, item - 1, 1])
      expect(differingRows(await run(on, problem({ ...of, ...more, mostWork })), whole)).toEqual([]);
  });

  it('scores far apart', async () => {
    const of = problem({ queries: 9, keys: 65, dims: 8, scale: 40 });
    expectRight(of, await run(disguise(device, as), of));
  });
});

it('several teams of eight lanes a workgroup', async () => {
  const on = disguise(device, { profile: 'discrete', attendSums: null });
  for (const { dims, causal } of [
    { dims: 40, causal: false },
    { dims: 40, causal: true },
    { dims: 192, causal: false },
    { dims: 512, causal: false },
  ]) {
    const of = problem({ items: 2, queries: 75, keys: 75, heads: 1, dims, causal });
    const y = await run(on, of);
    expectRight(of, y);
    expect(differingRows(y, await run(device, of))).toEqual([]);
  }
});

it.each([
  ['all at once', 3, 0],
  ['an item at a time', 1, 3],
  ['a part of an item', 0.99, 6],
])('segments end behind parts of the work: %s', (_, items, segments) => {
  const tape = new Tape(disguise(device, { profile: 'cpu' }), {});
  const [tokens, heads, dims] = [64, 2, 24];
  const x = tape.tensor([3, tokens, 3 * heads * dims]);
  const [q, k, v] = [0, 1, 2].map((i) => ({ x, first: i * heads * dims }));
  attend(q!, k!, v!, { heads, dims, mostWork: items * tokens ** 2 * heads * dims });
  expect(tape.segmentCount).toBe(segments);
  tape.destroy();
});
