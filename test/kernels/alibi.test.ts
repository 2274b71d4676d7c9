// ALiBi: slopes behind queries and positions behind keys, as the paper has them, and attention over both against a softmax in f64.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { PAGE_TOKENS, type HeadShape, type KvPages } from '../../src/kernels/batch.ts';
import { storedHead } from '../../src/kernels/resize-heads.ts';
import { attention } from '../../src/kernels/attention.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, poison, Random, upload } from './compute.ts';
import { expectBelow, expectCloseTo } from './expect-each.ts';
import { PAGES, readPages, tableOf } from './written-pages.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Slopes of ALiBi as the paper gives them: of six heads four have powers of 1/4, two odd powers of its root. */
const SLOPES = [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8];

it.each([
  ['cpu', 'f32', 8],
  ['cpu', 'f16', 6],
  ['discrete', 'f16', 8],
  ['discrete', 'f32', 16],
] as const)(
  '%s, pages in %s, heads of %i: slopes behind queries, positions behind keys',
  async (profile, format, dims) => {
    const on = disguise(device, { profile });
    const shape: HeadShape = { heads: 6, kvHeads: 2, dims, scale: 1, alibi: { most: 8, scale: 0.5 } };
    const stored = storedHead(shape);
    const positions = [0, 3, 255, 256, 70_003];
    const places = [64, 31, 32, 5, 95];
    const bytes = (PAGES * 2 * PAGE_TOKENS * stored * 4) / (format === 'f16' ? 2 : 1);
    const [keys, values] = [0, 1].map(() => upload(on, new Uint8Array(bytes)));
    for (const region of [keys!, values!]) poison(on, region);
    const x = new Random(dims).floats(places.length * 10 * dims);
    const y = await compute({
      device: on,
      capacity: { rows: 8 },
      sizes: { rows: places.length },
      record: (_, input) => {
        const table = tableOf(on, places);
        const rows = upload(on, Uint32Array.from(positions.flatMap((position) => [0, position, 0, 0])));
        const pages = { kind: 'kv', table, format, keys: keys!, values: values! } as const;
        return ropeKv(input(['rows', 10 * dims], x), null, shape, pages, null, { rows });
      },
    });
    const pages = await readPages(on, keys!, values!, format, { ...shape, dims: stored });
    places.forEach((place, row) => {
      SLOPES.forEach((slope, head) => {
        const got = Array.from(y[row]!.slice(head * stored, (head + 1) * stored));
        expectCloseTo(got[0], x[row * 10 * dims + head * dims]!, 6);
        expectCloseTo(got[dims + 1], slope / 2, 7);
        expect(got[dims]! / got[dims + 1]!).toBe(256);
        expect(got.slice(dims + 2)).toEqual(Array<number>(stored - dims - 2).fill(0));
      });
      for (const head of [0, 1]) {
        const [high, low] = [pages.key(place, head, dims)!, pages.key(place, head, dims + 1)!];
        expect(256 * high + low).toBe(positions[row]);
        for (let d = dims; d < stored; d++) expect(pages.value(place, head, d)).toBe(0);
      }
    });
  },
);

it('positions are not coded, and stand behind heads without norms only', () => {
  const qkv = new Tape(device, { rows: 1 }).tensor(['rows', 32]);
  const shape: HeadShape = { heads: 2, kvHeads: 1, dims: 8, alibi: { most: 8, scale: 1 } };
  const rows = {} as Region;
  expect(() => ropeKv(qkv, null, shape, { format: 'int8' } as KvPages, null, { rows })).toThrow('no codes');
});

it.each(['cpu', 'discrete'] as const)(
  '%s: a distance lowers the score of a key by the slope',
  async (profile) => {
    const on = disguise(device, { profile });
    const shape: HeadShape = { heads: 6, kvHeads: 2, dims: 8, alibi: { most: 8, scale: 1 } };
    const rows = 40;
    const width = 10 * shape.dims;
    const qkv = new Random(9).floats(rows * width);
    const order = [2, 0];
    const places = Array.from({ length: rows }, (_, i) => 32 * order[i >> 5]! + (i % 32));
    const bytes = PAGES * 2 * PAGE_TOKENS * storedHead(shape) * 4;
    const [keys, values] = [0, 1].map(() => upload(on, new Uint8Array(bytes)));
    const tiles = [0, 16, 32].flatMap((first) => [first, Math.min(16, rows - first), 0, first, 0]);
    const y = await compute({
      device: on,
      capacity: { rows, tiles: 3, tileRows: 16 },
      sizes: { rows, tiles: 3, tileRows: 16 },
      record: (_, input) => {
        const table = {
          pages: upload(on, Uint32Array.from(order)),
          places: upload(on, Uint32Array.from(places)),
        };
        const positions = upload(on, Uint32Array.from(places.flatMap((_place, i) => [0, i, 0, 0])));
        const kv = { kind: 'kv', table, format: 'f32', keys: keys!, values: values! } as const;
        const q = ropeKv(input(['rows', width], qkv), null, shape, kv, null, { rows: positions });
        const batch = batchOf(on, { tiles: upload(on, Uint32Array.from(tiles)), spans: false });
        return attention(q, batch, shape, kv, { window: null });
      },
    });
    for (const row of [0, 15, 39])
      attended(qkv, row).forEach((wanted, i) => expectBelow(Math.abs(y[row]![i]! - wanted), 2e-6));
  },
);

/** Attention of a row of six queries and two keys of eight dimensions, in f64. */
function attended(qkv: Float32Array, row: number): number[] {
  const at = (of: number, head: number, d: number) => qkv[of * 80 + head * 8 + d]!;
  return SLOPES.flatMap((slope, head) => {
    const key = 6 + Math.floor(head / 3);
    const weights = Array.from({ length: row + 1 }, (_, token) => {
      let score = -slope * (row - token);
      for (let d = 0; d < 8; d++) score += (at(row, head, d) * at(token, key, d)) / Math.sqrt(8);
      return Math.exp(score);
    });
    const sum = weights.reduce((a, b) => a + b, 0);
    return Array.from(
      { length: 8 },
      (_, d) => weights.reduce((total, weight, token) => total + weight * at(token, key + 2, d), 0) / sum,
    );
  });
}
