// The choice of tokens by scores of their own, against scores in f64: as many as may be, the best of them, the earlier of equal ones.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { TILE_ROWS, type KvFormat, type KvPages } from '../../src/kernels/batch.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { scale } from '../../src/kernels/scale.ts';
import { chooseTokens } from '../../src/kernels/token-choice.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, Random, toF16, upload } from './compute.ts';
import { storeKeys } from './stored-pages.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const PAGES = 12;
const [HEADS, DIMS] = [11, 20];
/** A prompt whose rows begin to choose, a late token, a chunk of another text. */
const TILES = [
  { sequence: 0, start: 30, rows: 16 },
  { sequence: 1, start: 370, rows: 1 },
  { sequence: 2, start: 250, rows: 7 },
];
const ROWS = TILES.flatMap(({ sequence, start, rows }) =>
  Array.from({ length: rows }, (_, i) => ({ sequence, position: start + i })),
);
const TABLES = [
  [7, 3],
  [0, 9, 1, 13, 4, 5, 6, 8, 10, 11, 12, 2],
  [20, 21, 22, 23, 24, 25, 26, 27, 28],
];

/** `weightOf`: a row's weight of a head. */
function choice(most: number, format: KvFormat, weightOf: (row: number) => number) {
  const random = new Random(most);
  const held = (): Float32Array =>
    random.floats(DIMS).map((value) => (format === 'f16' ? toF16(value) : value));
  const keys = TABLES.map((table) => Array.from({ length: 32 * table.length }, held));
  const q = random.floats(ROWS.length * HEADS * DIMS);
  const weights = Float32Array.from(
    { length: ROWS.length * HEADS },
    (_, i) => weightOf(Math.floor(i / HEADS)) * random.float(),
  );
  const scoreOf = (row: number, token: number): number =>
    Array.from({ length: HEADS }, (_, head) => {
      const key = keys[ROWS[row]!.sequence]![token]!;
      const from = (row * HEADS + head) * DIMS;
      const dot = key.reduce((sum, value, d) => sum + value * q[from + d]!, 0);
      return weights[row * HEADS + head]! * Math.max(0, dot);
    }).reduce((sum, one) => sum + one);
  const run = async (on: Device): Promise<number[][]> => {
    const pages = upload(on, Uint32Array.from(TABLES.flat()));
    const tiles = TILES.map(({ sequence, start, rows }, i) => {
      const before = TILES.slice(0, i).reduce((sum, tile) => sum + tile.rows, 0);
      return [before, rows, TABLES.slice(0, sequence).flat().length, start, 0];
    });
    const kv: KvPages = {
      ...{ kind: 'kv', format, table: { pages, places: pages }, values: null },
      keys: storeKeys(on, format, { heads: 1, kvHeads: 1, dims: DIMS }, keys, TABLES),
    };
    const batch = batchOf(on, { tiles: upload(on, Uint32Array.from(tiles.flat())) });
    const words = await compute({
      device: on,
      capacity: { rows: 40, tiles: 9, tileRows: TILE_ROWS, contextPages: PAGES },
      sizes: { rows: ROWS.length, tiles: TILES.length, tileRows: 16, contextPages: PAGES },
      // Padding and pages behind a row's own keep what was there.
      record: (tape, input) => {
        const of = { heads: HEADS, dims: DIMS, most };
        const bits = chooseTokens(
          input(['rows', HEADS * DIMS], q),
          input(['rows', HEADS], weights),
          batch,
          kv,
          of,
        )!;
        const padded = tape.tensor(['rows', 32], 'u32');
        tape.dispatch('concat.wgsl', {
          params: { ALIGNED: true },
          args: {
            a_columns: PAGES,
            b_columns: 20,
            a_quads: bits.stride / 4,
            b_quads: 8,
            y_quads: 8,
            rows: 40,
          },
          bind: { a: bits, b: input([40, 20], new Float32Array(800)), y: padded },
          groups: () => [5],
        });
        return padded;
      },
    });
    return words.map((row, at) => {
      const own = new Uint32Array(row.buffer);
      const tokens = Array.from({ length: ROWS[at]!.position + 1 }, (_, token) => token);
      return tokens.filter((token) => ((own[token >> 5]! >>> (token & 31)) & 1) === 1);
    });
  };
  return { run, scoreOf };
}

it.each<[KvFormat, number]>([
  ['f32', 40],
  ['f16', 100],
])('the best tokens, %s, %i', async (format, most) => {
  const { run, scoreOf } = choice(most, format, () => 1);
  const chosen = await run(device);
  chosen.forEach((tokens, row) => {
    const count = ROWS[row]!.position + 1;
    expect(tokens.length).toBe(Math.min(most, count));
    const scores = Array.from({ length: count }, (_, token) => scoreOf(row, token));
    const least = scores.toSorted((a, b) => b - a)[tokens.length - 1]!;
    for (const token of tokens) expect(scores[token]).toBeGreaterThan(least - 1e-5);
  });
  expect(await run(disguise(device, { profile: 'discrete' }))).toEqual(chosen);
  expect(await run(disguise(device, { dispatchWork: 2e6 }))).toEqual(chosen);
});

it('the earlier of equal tokens', async () => {
  const { run } = choice(40, 'f32', (row) => (row === 16 ? 0 : 1));
  expect((await run(device))[16]).toEqual(Array.from({ length: 40 }, (_, i) => i));
});

it('a context that has no more tokens needs no choice', async () => {
  const pages = upload(device, new Uint32Array(4));
  const kv: KvPages = {
    kind: 'kv',
    format: 'f32',
    table: { pages, places: pages },
    keys: pages,
    values: null,
  };
  const of = { heads: 1, dims: 4, most: 64 };
  await compute({
    ...{ device, capacity: { rows: 1, tiles: 1, contextPages: 2 }, sizes: { rows: 1 } },
    record: (_, input) => {
      const q = input(['rows', 4], new Float32Array(4));
      expect(
        chooseTokens(q, input(['rows', 1], new Float32Array(1)), batchOf(device, {}), kv, of),
      ).toBeNull();
      return scale(q, 1);
    },
  });
});

it('rotated queries, and keys in pages without values', async () => {
  const keys = upload(device, new Uint32Array(32 * DIMS));
  const table = { pages: keys, places: upload(device, Uint32Array.of(5)) };
  const x = new Random(1).floats(2 * DIMS);
  const kv: KvPages = { kind: 'kv', format: 'f32', table, keys, values: null };
  const shape = { heads: 1, kvHeads: 1, dims: DIMS, rotated: 4, scale: 2, kv: 'one' } as const;
  const q = await compute({
    ...{ device, capacity: { rows: 1 }, sizes: { rows: 1 } },
    record: (_, input) =>
      ropeKv(input(['rows', 2 * DIMS], x), input(['rows', 4], Float32Array.of(0, 1, 0, 1)), shape, kv, null),
  });
  const turned = (from: number): number[] => [
    -x[from + 2]!,
    -x[from + 3]!,
    x[from]!,
    x[from + 1]!,
    ...x.slice(from + 4, from + DIMS),
  ];
  expect(q[0]).toEqual(Float32Array.from(turned(0), (value) => 2 * value));
  const stored = new Float32Array(await device.read(keys));
  expect(Array.from({ length: DIMS }, (_, d) => stored[d * 32 + 5])).toEqual(turned(DIMS));
});
