// Paged attention against a softmax in f64: steps that mix prefill, chunks and decode of several sequences, on every head shape;
// and bit by bit against the same row alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { attention } from '../../src/kernels/attention.ts';
import {
  PAGE_TOKENS,
  ROW_WORDS,
  TILE_ROWS,
  TILE_WORDS,
  type HeadShape,
  type KvFormat,
  type KvPages,
} from '../../src/kernels/batch.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, differingRows, Random, toF16, upload } from './compute.ts';
import { PAGES, storeKeys, storeValues } from './stored-pages.ts';

let device: Device;
let plain: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  plain = disguise(device, { portable: true });
  hardware = disguise(device, { profile: 'discrete' });
});
afterAll(() => device.destroy());

/** First position and rows of each sequence's part of the step: a prompt, a late token, a chunk across pages, a first token. */
const SEQUENCES = [
  { from: 0, rows: 21 },
  { from: 70, rows: 1 },
  { from: 30, rows: 7 },
  { from: 0, rows: 1 },
];
/** The same where contexts have several chunks of eight pages. */
const LONG_SEQUENCES = [
  { from: 700, rows: 1 },
  { from: 250, rows: 12 },
  { from: 511, rows: 1 },
  { from: 590, rows: 21 },
];
const CAPACITY = { rows: 48, tiles: 8, tileRows: TILE_ROWS };

interface Problem {
  shape: HeadShape;
  window: number | null;
  kv: KvPages;
  /** [row][head · dims] */
  q: Float32Array;
  /** [sequence][token][kv head · dims] */
  keys: Float32Array[][];
  values: Float32Array[][];
  /** Page table of each sequence. */
  tables: number[][];
  rows: { sequence: number; position: number }[];
}

function problem(
  on: Device,
  shape: HeadShape,
  format: KvFormat,
  window: number | null,
  sequences = SEQUENCES,
): Problem {
  const random = new Random(shape.heads * 1000 + shape.dims);
  const width = shape.kvHeads * shape.dims;
  const held = (count: number) =>
    random.floats(count).map((value) => (format === 'f16' ? toF16(value) : value));
  const tokens = sequences.map(({ from, rows }) => from + rows);
  const keys = tokens.map((count) => Array.from({ length: count }, () => held(width)));
  const values = tokens.map((count) => Array.from({ length: count }, () => held(width)));
  const free = random.permutation(PAGES);
  const tables = tokens.map((count) => free.splice(0, Math.ceil(count / PAGE_TOKENS)));
  const rows = sequences.flatMap(({ from, rows: count }, sequence) =>
    Array.from({ length: count }, (_, i) => ({ sequence, position: from + i })),
  );
  // Scores of a few units, so that some tokens matter and many do.
  const q = random
    .floats(rows.length * shape.heads * shape.dims)
    .map((value) => (4 * value) / Math.sqrt(shape.dims));
  const kv = {
    format,
    keys: storeKeys(on, format, shape, keys, tables),
    values: storeValues(on, format, shape, values, tables),
  };
  return { shape, window, kv, q, keys, values, tables, rows };
}

/** Attends the given rows of a problem in one step. */
function run(
  on: Device,
  of: Problem,
  capacity: { rows: number; tiles: number; tileRows: number; contextPages?: number },
  chosen: number[] = of.rows.map((_, i) => i),
): Promise<Float32Array[]> {
  const rows = new Uint32Array(chosen.length * ROW_WORDS);
  const tiles: number[][] = [];
  const pages = of.tables.flat();
  chosen.forEach((row, i) => {
    const { sequence, position } = of.rows[row]!;
    rows.set([0, position, 0, 0], i * ROW_WORDS);
    const table = of.tables.slice(0, sequence).flat().length;
    const tile = tiles.at(-1);
    const continues = i > 0 && of.rows[chosen[i - 1]!]!.sequence === sequence;
    if (tile && continues && tile[1]! < TILE_ROWS) tile[1]! += 1;
    else tiles.push([i, 1, table, 0]);
  });
  const { heads, dims } = of.shape;
  const width = heads * dims;
  const batch = batchOf(on, {
    rows: upload(on, rows),
    tiles: upload(on, Uint32Array.from(tiles.flat())),
    pages: upload(on, Uint32Array.from(pages)),
  });
  expect(tiles.flat().length).toBe(tiles.length * TILE_WORDS);
  const q = Float32Array.from(
    chosen.flatMap((row) => Array.from(of.q.subarray(row * width, (row + 1) * width))),
  );
  return compute({
    device: on,
    capacity,
    sizes: {
      rows: chosen.length,
      tiles: tiles.length,
      tileRows: Math.max(...tiles.map((tile) => tile[1]!)),
      ...(capacity.contextPages !== undefined && {
        contextPages: Math.ceil(Math.max(...chosen.map((row) => of.rows[row]!.position + 1)) / PAGE_TOKENS),
      }),
    },
    record: (_, input) => attention(input(['rows', width], q), batch, of.shape, of.kv, of.window),
  });
}

function reference(of: Problem, row: number): number[] {
  const { heads, kvHeads, dims } = of.shape;
  const { sequence, position } = of.rows[row]!;
  const first = of.window === null ? 0 : Math.max(0, position - of.window + 1);
  return Array.from({ length: heads }, (_, head) => {
    const kvHead = Math.floor(head / (heads / kvHeads));
    const weights: number[] = [];
    for (let token = first; token <= position; token++) {
      let score = 0;
      for (let d = 0; d < dims; d++) {
        score += of.q[(row * heads + head) * dims + d]! * of.keys[sequence]![token]![kvHead * dims + d]!;
      }
      weights.push(Math.exp(score));
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return Array.from({ length: dims }, (_, d) =>
      weights.reduce(
        (sum, weight, i) => sum + (weight / total) * of.values[sequence]![first + i]![kvHead * dims + d]!,
        0,
      ),
    );
  }).flat();
}

/** Values are within ±1: this is absolute, a few ulp and the rounding of exp. */
const TOLERANCE = 2e-6;

function worstError(of: Problem, y: Float32Array[]): number {
  expect(y.length).toBe(of.rows.length);
  return y.reduce((worst, got, row) => {
    const errors = reference(of, row).map((wanted, i) => Math.abs(got[i]! - wanted));
    return errors.reduce((most, error) => (error <= most ? most : error), worst);
  }, 0);
}

const DIMS = [16, 24, 64, 80, 128];

const SHAPES = [
  { share: 1, dims: 16, kvHeads: 1, window: null },
  { share: 1, dims: 80, kvHeads: 2, window: 8 },
  { share: 2, dims: 24, kvHeads: 1, window: 40 },
  { share: 2, dims: 128, kvHeads: 2, window: null },
  { share: 3, dims: 64, kvHeads: 1, window: 8 },
  { share: 3, dims: 16, kvHeads: 2, window: 40 },
  { share: 4, dims: 24, kvHeads: 2, window: null },
  { share: 4, dims: 80, kvHeads: 1, window: 8 },
  { share: 8, dims: 64, kvHeads: 2, window: 40 },
  { share: 8, dims: 128, kvHeads: 1, window: null },
];

for (const { share, dims, kvHeads, window } of SHAPES) {
  const title = `${share} queries a key, ${dims} dims, ${kvHeads} key heads, window ${window}`;
  it(title, async () => {
    const shape = { heads: share * kvHeads, kvHeads, dims };
    const of = problem(device, shape, 'f32', window);
    const all = await run(device, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);

    // Alone, with three others, and in a step of its own tile.
    for (const row of [0, 20, 21, 28, 29]) {
      const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
      expect(differingRows(alone, [all[row]!])).toEqual([]);
    }
    for (const [rows, capacity] of [
      [[20, 21, 28, 29], { rows: 4, tiles: 4, tileRows: 1 }],
      [[3, 4, 5, 6], { rows: 4, tiles: 1, tileRows: 4 }],
    ] as const) {
      const expected = rows.map((row) => all[row]!);
      expect(differingRows(await run(device, of, capacity, [...rows]), expected)).toEqual([]);
    }
  });
}

describe('long contexts, in chunks', () => {
  it.each([
    { share: 1, dims: 64, kvHeads: 2, window: null },
    { share: 2, dims: 128, kvHeads: 1, window: 40 },
    { share: 3, dims: 24, kvHeads: 2, window: 300 },
    { share: 12, dims: 16, kvHeads: 1, window: null },
  ])('$share queries a key, $dims dims, window $window', async ({ share, dims, kvHeads, window }) => {
    const of = problem(hardware, { heads: share * kvHeads, kvHeads, dims }, 'f16', window, LONG_SEQUENCES);
    const all = await run(hardware, of, { ...CAPACITY, contextPages: 24 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    // By several workgroups, whoever else is there, and by one.
    for (const chosen of [[0], [13], [4, 5, 6, 7], [0, 1, 2, 3, 13], [30, 31, 32, 33], [0, 13, 34]]) {
      const expected = chosen.map((row) => all[row]!);
      for (const contextPages of [24, undefined]) {
        const capacity = { rows: 16, tiles: 4, tileRows: 16, ...(contextPages && { contextPages }) };
        expect(differingRows(await run(hardware, of, capacity, chosen), expected)).toEqual([]);
      }
    }
  });

  it('are as many as there is room for, however long the context', async () => {
    const of = problem(hardware, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null, LONG_SEQUENCES);
    const capacity = { rows: 1, tiles: 1, tileRows: 1, contextPages: 64 * 16 };
    const all = await run(hardware, of, { ...CAPACITY, contextPages: 64 * 16 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    expect(differingRows(await run(hardware, of, capacity, [0]), [all[0]!])).toEqual([]);
  });

  it('are one where the key heads occupy all cores', async () => {
    const of = problem(device, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', 300, LONG_SEQUENCES);
    const all = await run(device, of, { ...CAPACITY, contextPages: 24 });
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1, contextPages: 24 }, [0]);
    expect(differingRows(alone, [all[0]!])).toEqual([]);
  });
});

describe('pages in f16', () => {
  it.each([24, 80])('%i dims', async (dims) => {
    const of = problem(device, { heads: 6, kvHeads: 2, dims }, 'f16', 40);
    const all = await run(device, of, CAPACITY);
    expect(worstError(of, all)).toBeLessThan(TOLERANCE);
    const alone = await run(device, of, { rows: 1, tiles: 1, tileRows: 1 }, [21]);
    expect(differingRows(alone, [all[21]!])).toEqual([]);
  });
});

describe('without subgroups', () => {
  it.each(DIMS)('%i dims', async (dims) => {
    for (const [format, window] of [
      ['f32', null],
      ['f16', 8],
    ] as const) {
      const of = problem(plain, { heads: 6, kvHeads: 2, dims }, format, window);
      const all = await run(plain, of, CAPACITY);
      expect(worstError(of, all)).toBeLessThan(TOLERANCE);
      for (const row of [0, 20, 21, 29]) {
        const alone = await run(plain, of, { rows: 1, tiles: 1, tileRows: 1 }, [row]);
        expect(differingRows(alone, [all[row]!])).toEqual([]);
      }
    }
  });
});

it('scores that would overflow exp', async () => {
  for (const on of [device, plain]) {
    const of = problem(on, { heads: 2, kvHeads: 1, dims: 16 }, 'f32', null);
    of.q.forEach((value, i) => (of.q[i] = value * 300));
    const y = await run(on, of, CAPACITY);
    // The largest score takes all: its value comes out.
    y.forEach((row, i) => {
      const { sequence, position } = of.rows[i]!;
      const score = (token: number) =>
        of.keys[sequence]![token]!.reduce((sum, key, d) => sum + key * of.q[i * 32 + d]!, 0);
      let best = 0;
      for (let token = 1; token <= position; token++) if (score(token) > score(best)) best = token;
      for (let token = 0; token <= position; token++) {
        if (token !== best && score(token) > score(best) - 30) return; // too close to tell
      }
      row.slice(0, 16).forEach((got, d) => expect(got).toBeCloseTo(of.values[sequence]![best]![d]!, 5));
    });
    expect(y.flatMap((row) => Array.from(row)).every(Number.isFinite)).toBe(true);
  }
});
