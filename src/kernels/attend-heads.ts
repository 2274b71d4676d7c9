// Attention whose heads are divided among devices: each gives the others its tokens of their heads, attends with its own heads among all tokens,
// and gives the results back.

import { tapeOf } from '../gpu/tape.ts';
import type { HeadRanks } from '../gpu/tape-options.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { HeadsOf } from './attend-record.ts';
import {
  allCount,
  copyBlock,
  keysOf,
  operandsOf,
  ownCount,
  placeOf,
  runsOf,
  type Counts,
} from './gather-tokens.ts';

/** Columns of the queries and of the keys of all heads, and tokens of the devices that divide them. */
export interface HeadParts {
  columns: { queries: number; keys: number };
  counts: { queries: Counts; keys: Counts };
}

/** Queries, keys and values of this device's share of the heads, for all tokens; q [items, own tokens, …], k and v alike → [items, tokens, …] */
export function takeHeads(
  [q, k, v]: readonly [HeadsOf, HeadsOf, HeadsOf],
  { rank, ranks, allToAll }: HeadRanks,
  { columns, counts }: HeadParts,
): [HeadsOf, HeadsOf, HeadsOf] {
  const [items] = q.x.shape as [number];
  const tape = tapeOf(q.x);
  const [ofQueries, ofKeys] = [columns.queries / ranks, columns.keys / ranks];
  const queries = tape.tensor([items, allCount(counts.queries), ofQueries]);
  const keys = tape.tensor([items, allCount(counts.keys), 2 * ofKeys]);
  const operands = operandsOf(q, k, v);
  /** What each is taken from and put into; `columns`: those of a device. */
  const parts = [
    { from: q, counts: counts.queries, columns: ofQueries, to: { x: queries, first: 0 } },
    { from: k, counts: counts.keys, columns: ofKeys, to: { x: keys, first: 0 } },
    { from: v, counts: counts.keys, columns: ofKeys, to: { x: keys, first: ofKeys } },
  ].map((part) => ({ ...part, runs: runsOf(part.counts), all: allCount(part.counts) }));
  const sizeOf = (device: number): number =>
    parts.reduce((sum, part) => sum + items * ownCount(part.counts, device) * part.columns, 0);

  const swap = async (...bytes: ArrayBuffer[]): Promise<ArrayBuffer[]> => {
    const values = bytes.map((one) => new Float32Array(one));
    const given = Array.from({ length: ranks }, (_, device) => {
      const packed = new Float32Array(sizeOf(rank));
      let at = 0;
      for (const { from, counts: each, columns: width } of parts) {
        const rows = items * ownCount(each, rank);
        const { stride, first } = placeOf(from);
        const own = { values: values[operands.indexOf(from.x)]!, stride, first: first + device * width };
        copyBlock(own, 0, { values: packed, stride: width, first: at }, 0, { rows, columns: width });
        at += rows * width;
      }
      return packed.buffer;
    });
    const taken = await allToAll(given);
    const results = [queries, keys].map((x) => new Float32Array(x.rows({}) * x.stride));
    for (const [device, one] of taken.entries()) {
      const packed = new Float32Array(one);
      let at = 0;
      for (const { to, counts: each, columns: width, runs, all } of parts) {
        const own = ownCount(each, device);
        const from = { values: packed, stride: width, first: at };
        const into = { values: results[to.x === queries ? 0 : 1]!, ...placeOf(to) };
        for (let item = 0; item < items; item++)
          for (const run of runs[device]!)
            copyBlock(from, item * own + run.own, into, item * all + run.all, {
              rows: run.count,
              columns: width,
            });
        at += items * own * width;
      }
    }
    return results.map((one) => one.buffer);
  };
  tape.meet({ from: operands, into: [queries, keys], exchange: swap });
  return [{ x: queries, first: 0 }, ...keysOf(keys, ofKeys)];
}

/** Results of all heads for this device's tokens; y [items, tokens, a share of the columns] → [items, own tokens, columns] */
export function giveHeads(
  y: Tensor,
  { rank, ranks, allToAll }: HeadRanks,
  { columns, counts: { queries: counts } }: HeadParts,
): Tensor {
  const [items] = y.shape as [number];
  const tape = tapeOf(y);
  const width = columns.queries / ranks;
  const [own, all, runs] = [ownCount(counts, rank), allCount(counts), runsOf(counts)];
  const result = tape.tensor([items, own, columns.queries]);
  const swap = async (bytes: ArrayBuffer): Promise<ArrayBuffer[]> => {
    const from = { values: new Float32Array(bytes), ...placeOf({ x: y, first: 0 }) };
    const given = runs.map((ofDevice, device) => {
      const count = ownCount(counts, device);
      const packed = { values: new Float32Array(items * count * width), stride: width, first: 0 };
      for (let item = 0; item < items; item++)
        for (const run of ofDevice)
          copyBlock(from, item * all + run.all, packed, item * count + run.own, {
            rows: run.count,
            columns: width,
          });
      return packed.values.buffer;
    });
    const taken = await allToAll(given);
    const values = new Float32Array(items * own * result.stride);
    for (const [device, one] of taken.entries()) {
      const packed = { values: new Float32Array(one), stride: width, first: 0 };
      const into = { values, stride: result.stride, first: device * width };
      copyBlock(packed, 0, into, 0, { rows: items * own, columns: width });
    }
    return [values.buffer];
  };
  tape.meet({ from: [y], into: [result], exchange: swap });
  return result;
}
