// Attention with terms for the places of queries and keys in a grid, against sums in f64.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { attend } from '../../src/kernels/attend.ts';
import { placeTerms } from '../../src/kernels/place-terms.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

/** Software adapters compile each variant for seconds. */
vi.setConfig({ testTimeout: 300_000 });

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const GPU: Disguise = { profile: 'discrete', portable: true, sharedTiles: 1 };

interface Placed {
  items: number;
  rows: number;
  columns: number;
  heads: number;
  dims: number;
  /** Rows of the tables. */
  places: [down: number, across: number];
}

const OF: Placed = { items: 2, rows: 3, columns: 5, heads: 3, dims: 12, places: [5, 9] };
const RESIZED: Placed = { ...OF, rows: 5, columns: 3, places: [7, 8] };

function inputsOf({ items, rows, columns, heads, dims, places }: Placed) {
  const random = new Random(rows);
  const qkv = random.floats(items * rows * columns * 3 * heads * dims).map((value) => 2 * value);
  return { qkv, down: random.floats(places[0] * dims), across: random.floats(places[1] * dims) };
}

/** A table's row for a distance from −size + 1 to size − 1, of as many rows as the grid needs. */
function placeOf(table: Float32Array, dims: number, size: number, distance: number): Float64Array {
  const [count, wanted] = [table.length / dims, 2 * size - 1];
  const centre = Math.max(((distance + size - 1 + 0.5) * count) / wanted - 0.5, 0);
  const first = Math.floor(centre);
  const row = (at: number, d: number): number => table[Math.min(at, count - 1) * dims + d]!;
  return Float64Array.from({ length: dims }, (_, d) => {
    return row(first, d) * (1 - centre + first) + row(first + 1, d) * (centre - first);
  });
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, d) => sum + value * b[d]!, 0);

function expectRight(of: Placed, found: Float32Array[], scale: number): void {
  const { items, rows, columns, heads, dims } = of;
  const { qkv, down, across } = inputsOf(of);
  const tokens = rows * columns;
  expect(found).toHaveLength(items * tokens);
  const part = (row: number, i: number, head: number): Float32Array =>
    qkv.subarray((row * 3 + i) * heads * dims + head * dims).subarray(0, dims);
  found.forEach((y, row) => {
    const [item, query] = [Math.floor(row / tokens), row % tokens];
    for (let head = 0; head < heads; head++) {
      const q = part(row, 0, head);
      const scores = Array.from({ length: tokens }, (_, key) => {
        const [apart, beside] = [
          Math.floor(query / columns) - Math.floor(key / columns),
          (query % columns) - (key % columns),
        ];
        const terms = [placeOf(down, dims, rows, apart), placeOf(across, dims, columns, beside)];
        return scale * dot(q, part(item * tokens + key, 1, head)) + dot(q, terms[0]!) + dot(q, terms[1]!);
      });
      const largest = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - largest));
      const total = weights.reduce((a, b) => a + b);
      for (let d = 0; d < dims; d++) {
        const right = weights.reduce(
          (sum, weight, key) => sum + (weight / total) * part(item * tokens + key, 2, head)[d]!,
          0,
        );
        expectBelow(Math.abs(y[head * dims + d]! - right), 1e-5);
      }
    }
  });
}

it.each<{ of: Placed; as: Disguise; mostWork?: number }>([
  { of: OF, as: {} },
  { of: RESIZED, as: {} },
  { of: RESIZED, as: { portable: true } },
  { of: OF, as: GPU },
  { of: { ...OF, columns: 23, places: [5, 45] }, as: { bindingLimit: 16 << 10, portable: true } },
  { of: OF, as: { portable: true }, mostWork: 1 },
])('attention with places, $of on $as', async ({ of, as, mostWork }) => {
  const { items, rows, columns, heads, dims, places } = of;
  const { qkv, down, across } = inputsOf(of);
  const scale = 0.4;
  const y = await compute({
    device: disguise(device, as),
    capacity: {},
    sizes: {},
    record(_, input) {
      const x = input([items, rows * columns, 3 * heads * dims], qkv);
      const tables = { down: input([places[0], dims], down), across: input([places[1], dims], across) };
      const [q, k, v] = [0, 1, 2].map((i) => ({ x, first: i * heads * dims }));
      const grid = { rows, columns };
      const terms = placeTerms(q!, tables, { heads, dims, grid });
      const limit = mostWork === undefined ? {} : { mostWork };
      return attend(q!, k!, v!, { heads, dims, scale, placed: { terms, grid }, ...limit });
    },
  });
  expectRight(of, y, scale);
});
