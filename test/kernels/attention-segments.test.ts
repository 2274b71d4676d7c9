// Attention to keys and values of one segment of the contexts after another: against a softmax in f64, and the same bits with segments of any size.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { attention } from '../../src/kernels/attention.ts';
import { STATE_VALUES } from '../../src/kernels/attention-rule.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvFormat, type StepPages } from '../../src/kernels/batch.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { LONG_SEQUENCES, problem, reference } from './attention-problem.ts';
import { batchOf, compute, differingRows, upload } from './compute.ts';
import { storeKeys, storeValues } from './stored-pages.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [HEADS, DIMS, VALUES] = [2, 24, 16];
const TOLERANCE = 2e-6;

/** Rows of several sequences; values are the first dimensions of the keys, in pages of their own. */
async function attend(on: Device, format: KvFormat, sizes: readonly number[]): Promise<Float32Array[][]> {
  const shape = { heads: HEADS, kvHeads: HEADS, dims: DIMS, valueDims: VALUES };
  const of = problem(on, shape, format, null, LONG_SEQUENCES);
  let pages = 0;
  const tables = of.tables.map((table) => table.map(() => pages++));
  const tiles: number[][] = [];
  LONG_SEQUENCES.forEach(({ from, rows }, sequence) => {
    const before = tiles.reduce((sum, tile) => sum + tile[1]!, 0);
    for (let at = 0; at < rows; at += TILE_ROWS)
      tiles.push([before + at, Math.min(TILE_ROWS, rows - at), tables[sequence]![0]!, from + at, 0]);
  });
  const values = of.keys.map((rows) => rows.map((row) => row.filter((_, i) => i % DIMS < VALUES)));
  const keysOf = storeKeys(on, format, shape, of.keys, tables);
  const valuesOf = storeValues(on, format, { ...shape, dims: VALUES }, values, tables);
  const part = ({ buffer }: Region, dims: number, first: number, count: number): Region => {
    const bytes = HEADS * dims * PAGE_TOKENS * (format === 'f16' ? 2 : 4);
    return { buffer, offset: first * bytes, size: count * bytes };
  };
  const batch = batchOf(on, { tiles: upload(on, Uint32Array.from(tiles.flat())) });
  const table = { pages: upload(on, new Uint32Array(4)), places: upload(on, new Uint32Array(4)) };
  const steps = { rows: of.rows.length, tiles: tiles.length, tileRows: TILE_ROWS, contextPages: 24 };
  const results: Float32Array[][] = [];
  for (const each of sizes) {
    const y = await compute({
      ...{ device: on, capacity: steps, sizes: steps },
      record(tape, input) {
        const q = input(['rows', HEADS * DIMS], of.q);
        const sums = tape.tensor(['rows', HEADS * VALUES]);
        const held = tape.tensor(['rows', HEADS * STATE_VALUES]);
        for (let first = 0; first < pages; first += each) {
          const count = Math.min(each, pages - first);
          const kv = {
            ...{ kind: 'kv', table, format },
            keys: part(keysOf, DIMS, first, count),
            values: part(valuesOf, VALUES, first, count),
          } as unknown as StepPages;
          attention(q, batch, shape, kv, { window: null, segment: { first, pages: count, y: sums, held } });
        }
        return sums;
      },
    });
    results.push(y);
  }
  const worst = results[0]!.reduce(
    (most, row, i) =>
      reference(of, i).reduce((larger, value, d) => Math.max(larger, Math.abs(value - row[d]!)), most),
    0,
  );
  expect(worst).toBeLessThan(TOLERANCE);
  return results;
}

it.each([
  ['without subgroups', 'f32', { portable: true }],
  ['on GPUs', 'f16', { profile: 'discrete' }],
] as const)('%s', async (_, format, as) => {
  const [whole, ...others] = await attend(disguise(device, as), format, [1000, 1, 3, 7]);
  for (const one of others) expect(differingRows(one, whole!)).toEqual([]);
});
