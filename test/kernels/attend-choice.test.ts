// Kernels of dense attention that a tape prefers, against sums in f64.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AttentionChoice } from '../../src/gpu/tape-options.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attend } from '../../src/kernels/attend.ts';
import { attendTile } from '../../src/kernels/attend-tile.ts';
import type { Columns } from '../../src/kernels/columns.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { expectRight, problem, run, type Problem } from './attend-problem.ts';
import { differingRows } from './compute.ts';
import { MATRIX_UNITS as UNITS } from './matrix-units.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SAGE: AttentionChoice = { kernels: 'sage' };
const sparse = (of: Partial<Omit<AttentionChoice & { kernels: 'sparse' }, 'kernels'>>): AttentionChoice => ({
  kernels: 'sparse',
  sparsity: 0,
  window: null,
  ...of,
});

/** Most difference of values below 1 for queries and keys in 8 bits. */
const ROUNDED = 0.03;

it.each<AttentionChoice['kernels'] & ('plain' | 'flash')>(['plain', 'flash'])(
  '%s computes what the kernel of its choice does',
  async (kernels) => {
    const of = problem({ queries: 70, keys: 90, dims: 40, attention: { kernels } });
    expectRight(of, await run(device, of));
  },
);

describe('queries and keys in 8 bits', () => {
  // The smallest, one that fills no tile, and one of several rounds; 64 is below.
  it.each([4, 40, 320])('heads of %i', async (dims) => {
    const of = problem({ queries: 35, keys: 83, dims, attention: SAGE, scale: 1 / dims ** 0.5 / 3 });
    expectRight(of, await run(device, of), ROUNDED);
  });

  it('keys that have much in common are as exact as others', async () => {
    const of = problem({ queries: 35, keys: 83, dims: 64, scale: 1 / 24, attention: SAGE, items: 2 });
    const shifted = Float32Array.from(
      of.kv,
      (value, i) => value + (i % 256 < 128 ? 50 * Math.sin(i % 128) : 0),
    );
    const far = { ...of, kv: shifted };
    expectRight(far, await run(device, far), ROUNDED);
  });

  it('keys of each item and shared heads; an item is the same alone', async () => {
    const given = { items: 3, queries: 18, keys: 70, dims: 40, heads: 6, kvHeads: 2, scale: 0.05 };
    const of = problem({ ...given, keyCounts: [70, 1, 33], attention: SAGE });
    const all = await run(device, of);
    expectRight(of, all, ROUNDED);
    const alone = await run(device, of, 2, 3);
    expect(differingRows(alone, all.slice(36))).toEqual([]);
  });

  it.each([
    ['nvidia', 2],
    ['adreno', 1],
  ] as const)(
    'a lane of %s has as many sums as its registers hold: quads of queries: %i',
    (family, quads) => {
      const on = disguise(device, { profile: 'discrete', family, sharedTiles: 1 });
      const tape = new Tape(on, {}, { attention: SAGE });
      const shape = { queries: 4096, keys: 4096, heads: 8, dims: 64 };
      expect(attendTile(tape, shape, { dots: 'codes', isSparse: false })!.params.QUERY_QUADS).toBe(quads);
      tape.destroy();
    },
  );

  it('tensors above the binding limit', async () => {
    const of = problem({
      items: 2,
      queries: 150,
      keys: 150,
      dims: 40,
      heads: 4,
      scale: 0.05,
      attention: SAGE,
    });
    expectRight(of, await run(disguise(device, { bindingLimit: 46 << 10 }), of), ROUNDED);
  });
});

describe('a part of the keys', () => {
  it.each([40, 128])('nothing left out, heads of %i: the same as all keys', async (dims) => {
    const of = problem({ queries: 140, keys: 140, heads: 1, dims, attention: sparse({}) });
    expectRight(of, await run(device, of));
  });

  it.each([
    { dims: 32, limit: 0 },
    { dims: 64, limit: 92 << 10 },
  ])(
    'the blocks of the largest scores of means, heads of $dims, binding of $limit',
    async ({ dims, limit }) => {
      const of = problem({ queries: 150, keys: 150, dims, attention: sparse({ sparsity: 0.6 }) });
      const on = limit > 0 ? disguise(device, { bindingLimit: limit }) : device;
      expectRight({ ...of, sees: byMeans(of, 1) }, await run(on, of));
    },
  );

  it('an item is the same alone', async () => {
    const of = problem({
      items: 2,
      queries: 200,
      keys: 200,
      heads: 1,
      dims: 32,
      attention: sparse({ sparsity: 0.7 }),
    });
    const all = await run(device, of);
    expect(differingRows(await run(device, of, 1, 2), all.slice(200))).toEqual([]);
  });

  it('a window of frames, rows and columns around a query', async () => {
    const grid = { first: 10, frames: 5, rows: 4, columns: 16 };
    const of = problem({
      queries: 340,
      keys: 340,
      dims: 64,
      grid,
      attention: sparse({ window: [3, 3, 5] }),
    });
    const frame = (block: number) => [64 * block - 10, 64 * block + 53];
    const sees = (query: number, key: number): boolean => {
      const [a, b] = [Math.floor(query / 64), Math.floor(key / 64)];
      const [from, to] = [frame(a), frame(b)];
      const isBeside = [from, to].some(([first, last]) => first! < 0 || last! >= 320);
      return isBeside || Math.abs(a - b) <= 2;
    };
    expectRight({ ...of, sees }, await run(device, of));
  });

  it('few keys, causal queries and keys of another sequence are seen whole', async () => {
    const attention = sparse({ sparsity: 0.9 });
    for (const more of [
      { queries: 90, keys: 90 },
      { queries: 200, keys: 200, causal: true },
      { queries: 40, keys: 300 },
    ]) {
      const of = problem({ dims: 32, ...more, attention });
      expectRight(of, await run(device, of));
    }
  });
});

it.each<[AttentionChoice['kernels'] & ('auto' | 'flash' | 'plain'), string]>([
  ['auto', 'attend-matrix.wgsl'],
  ['flash', 'attend-shared.wgsl'],
  ['plain', 'attend-plain.wgsl'],
])('%s on an adapter with matrix units is %s', (kernels, shader) => {
  const on = disguise(device, {
    profile: 'discrete',
    sharedTiles: 1,
    matrixUnit: { ...UNITS['intel Arc A'], emulated: true },
  });
  const tape = new Tape(on, {}, { attention: { kernels } });
  const dispatched = vi.spyOn(tape, 'dispatch').mockReturnValue();
  const x = tape.tensor([1, 256, 3 * 128]);
  const [q, k, v] = [0, 128, 256].map((first) => ({ x, first })) as [Columns, Columns, Columns];
  attend(q, k, v, { heads: 2, dims: 64 });
  expect(dispatched.mock.lastCall![0]).toBe(shader);
  tape.destroy();
});

/** Whether a query sees a key: its block is its own, or one of `kept` of the largest scores of means. */
function byMeans({ queries, heads, kvHeads, dims, q, kv }: Problem, kept: number) {
  const blocks = Math.ceil(queries / 64);
  const mean = (values: Float32Array, stride: number, head: number, block: number): number[] => {
    const rows = Math.min(64, queries - 64 * block);
    return Array.from({ length: dims }, (_, d) => {
      let sum = 0;
      for (let row = 0; row < rows; row++) sum += values[(64 * block + row) * stride + head * dims + d]!;
      return sum / rows;
    });
  };
  const chosen = Array.from({ length: heads }, (_, head) => {
    const keyMeans = Array.from({ length: blocks }, (__, block) => mean(kv, 2 * kvHeads * dims, head, block));
    return Array.from({ length: blocks }, (__, own) => {
      const query = mean(q, heads * dims, head, own);
      const scores = keyMeans.map((key) => key.reduce((sum, value, d) => sum + value * query[d]!, 0));
      const order = scores.map((_score, i) => i).toSorted((a, b) => scores[b]! - scores[a]!);
      return new Set([own, ...order.slice(0, kept)]);
    });
  });
  return (query: number, key: number, head: number): boolean =>
    chosen[head]![Math.floor(query / 64)]!.has(Math.floor(key / 64));
}
