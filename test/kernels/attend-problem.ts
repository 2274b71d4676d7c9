// Dense attention on given inputs, and the same in f64.

import { expect } from 'vitest';
import type { AttentionChoice } from '../../src/gpu/tape-options.ts';
import type { Device } from '../../src/gpu/device.ts';
import type { TokenGrid } from '../../src/kernels/attend-blocks.ts';
import { attend } from '../../src/kernels/attend.ts';
import { compute, Random } from './compute.ts';
import { largestError } from './worst-error.ts';

export interface Problem {
  items: number;
  queries: number;
  keys: number;
  heads: number;
  kvHeads: number;
  dims: number;
  causal: boolean;
  keyCounts: number[] | null;
  scale: number | undefined;
  /** [queries + keys − 1][heads], by distance. */
  bias: Float32Array | null;
  mostWork?: number;
  attention?: AttentionChoice;
  grid?: TokenGrid;
  /** Whether a query sees a key; left out: by `causal` and `keyCounts`. */
  sees?: (query: number, key: number, head: number) => boolean;
  q: Float32Array;
  kv: Float32Array;
}

export function problem(given: Partial<Problem> & { queries: number; keys: number; dims: number }): Problem {
  const { items = 1, heads = 2, kvHeads = heads, queries, keys, dims } = given;
  const random = new Random(queries * 1000 + keys * 10 + dims);
  return {
    causal: false,
    keyCounts: null,
    scale: undefined,
    bias: null,
    q: random.floats(items * queries * heads * dims).map((value) => 3 * value),
    kv: random.floats(items * keys * 2 * kvHeads * dims),
    ...given,
    items,
    heads,
    kvHeads,
  };
}

/** Runs q in a tensor of its own, with keys and values side by side in another, from column four on. */
export function run(on: Device, of: Problem, from = 0, to: number = of.items): Promise<Float32Array[]> {
  const { queries, keys, heads, kvHeads, dims, causal, keyCounts, scale, bias, mostWork } = of;
  const width = heads * dims;
  const kvWidth = kvHeads * dims;
  const items = to - from;
  const shifted = shift(of.kv.subarray(from * keys * 2 * kvWidth, to * keys * 2 * kvWidth), 2 * kvWidth);
  const counts =
    keyCounts && on.tensor('step', 'counts', [items], Uint32Array.from(keyCounts.slice(from, to)));
  return compute({
    device: on,
    capacity: {},
    sizes: {},
    ...(of.attention && { attention: of.attention }),
    record(_, input) {
      const q = input([items, queries, width], of.q.subarray(from * queries * width, to * queries * width));
      const kv = input([items, keys, 4 + 2 * kvWidth], shifted);
      const added = bias && input([1, queries + keys - 1, heads], bias);
      const options = {
        heads,
        kvHeads,
        dims,
        causal,
        ...(counts ? { keyCounts: counts } : {}),
        ...(added ? { bias: added } : {}),
        ...(mostWork !== undefined && { mostWork }),
        ...(of.grid && { grid: of.grid }),
      };
      return attend(
        { x: q, first: 0 },
        { x: kv, first: 4 },
        { x: kv, first: 4 + kvWidth },
        scale === undefined ? options : { ...options, scale },
      );
    },
  });
}

/** Returns rows that begin with four arbitrary values. */
function shift(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns;
  const shifted = new Float32Array(rows * (columns + 4)).fill(1e9);
  for (let row = 0; row < rows; row++)
    shifted.set(values.subarray(row * columns, (row + 1) * columns), row * (columns + 4) + 4);
  return shifted;
}

export function reference(of: Problem): Float64Array[] {
  const { items, queries, keys, heads, kvHeads, dims, scale = 1 / Math.sqrt(dims) } = of;
  const kvAt = (item: number, key: number, head: number) =>
    ((item * keys + key) * 2 * kvHeads + Math.floor((head * kvHeads) / heads)) * dims;
  const results: Float64Array[] = [];
  const scores = new Float64Array(keys);
  for (let row = 0; row < items * queries; row++) {
    const item = Math.floor(row / queries);
    const query = row % queries;
    const most = of.keyCounts?.[item] ?? keys;
    const seen = of.causal ? Math.min(most, query + 1) : most;
    const y = new Float64Array(heads * dims);
    for (let head = 0; head < heads; head++) {
      const from = (row * heads + head) * dims;
      let largest = -Infinity;
      for (let key = 0; key < seen; key++) {
        const at = kvAt(item, key, head);
        let sum = 0;
        for (let d = 0; d < dims; d++) sum += of.q[from + d]! * of.kv[at + d]!;
        const bias = of.bias?.[(key - query + queries - 1) * heads + head] ?? 0;
        const score = of.sees?.(query, key, head) === false ? -Infinity : sum * scale + bias;
        scores[key] = score;
        largest = Math.max(largest, score);
      }
      let total = 0;
      for (let key = 0; key < seen; key++) total += scores[key] = Math.exp(scores[key]! - largest);
      for (let key = 0; key < seen; key++) {
        const weight = scores[key]! / total;
        const at = kvAt(item, key, head) + kvHeads * dims;
        for (let d = 0; d < dims; d++) y[head * dims + d]! += weight * of.kv[at + d]!;
      }
    }
    results.push(y);
  }
  return results;
}

/** Values are below 1; a score has an error of a few ulp of its terms, and so do the weights. */
const TOLERANCE = 1e-5;

export function expectRight(of: Problem, y: Float32Array[], tolerance = TOLERANCE): void {
  const wanted = reference(of);
  expect(y.length).toBe(wanted.length);
  expect(
    wanted.map((right, i) => largestError(y[i]!, right)).filter((error) => !(error < tolerance)),
  ).toEqual([]);
}
