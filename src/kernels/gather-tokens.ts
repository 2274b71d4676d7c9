// Sequences whose tokens are divided among devices: the part of this device, and the tokens of all, by way of host memory.

import { tapeOf } from '../gpu/tape.ts';
import type { TokenSplit } from '../gpu/tape-options.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Columns } from './columns.ts';
import { joinRows, joinTokens, takeRows, takeTokens } from './copy-rows.ts';

/** Sequences that are divided among devices, by their numbers; none are named: all, one after the other. Without a division the part of a device is the whole. */
export interface DividedTokens {
  /** x [items, tokens, columns] or [tokens, columns] → those of this device */
  own(x: Tensor, ...sequences: number[]): Tensor;
  /** x [units, columns], a row for each unit of the first sequence → those of this device's units, [own units, columns] */
  ownUnits(x: Tensor): Tensor;
  /** Tokens of a sequence that this device has. */
  count(sequence: number): number;
  /** x [items, own tokens, columns] → [items, tokens, columns]; tokens of x behind those of the sequences are left out where there is a division */
  all(x: Tensor, ...sequences: number[]): Tensor;
}

/**
 * Divides sequences of so many tokens, which attend to each other in what is recorded next, where the tape of `x` divides tokens among devices.
 * `unit`: tokens that stay together. Throws what the division throws where there are too few.
 */
export function divideTokens(
  x: Pick<Tensor, 'tape' | 'shape'>,
  tokens: readonly number[],
  unit = 1,
): DividedTokens {
  const tape = tapeOf(x);
  const whole = (x: Tensor): Tensor => x;
  if (!tape.split) return { own: whole, ownUnits: whole, count: (i) => tokens[i]!, all: whole };
  const counts = tokens.map((count) => tape.split!.countsOf(count, unit));
  const split: TokenSplit = { ...tape.split, counts };
  const { rank } = split;
  tape.split = split;
  return {
    own(x, ...sequences) {
      const chosen = chosenCounts(counts, sequences);
      const parts = runsOf(chosen)[rank]!.map((run) => ({ first: run.all, count: run.count }));
      if (x.shape.length === 2) {
        const own = sumOf(parts.map(({ count }) => count));
        return joinRows(
          parts.map(({ first, count }) => takeRows(x, first, [count])),
          [own],
        );
      }
      return parts.map(({ first, count }) => takeTokens(x, first, count)).reduce(joinTokens);
    },
    ownUnits(x) {
      const [run] = runsOf(counts.slice(0, 1))[rank]!;
      return takeRows(x, run!.all / unit, [run!.count / unit]);
    },
    count: (sequence) => counts[sequence]![rank]!,
    all: (x, ...sequences) => gatherTokens(x, split, chosenCounts(counts, sequences)),
  };
}

/** Tokens of each device, for each of several sequences. */
export type Counts = readonly (readonly number[])[];

/** Those of the sequences with these numbers; none are named: all. */
export const chosenCounts = (counts: Counts, sequences: readonly number[] = []): Counts =>
  sequences.length === 0 ? counts : sequences.map((i) => counts[i]!);

/** Tokens of a sequence that a device has. */
export interface Run {
  /** Tokens before them, of that device and of all. */
  own: number;
  all: number;
  count: number;
}

/** Where the tokens of each device stand, whose sequences follow each other. */
export function runsOf(counts: Counts): Run[][] {
  const before = counts[0]!.map(() => 0);
  const runs = before.map((): Run[] => []);
  let all = 0;
  for (const sequence of counts)
    for (const [device, count] of sequence.entries()) {
      runs[device]!.push({ own: before[device]!, all, count });
      before[device]! += count;
      all += count;
    }
  return runs;
}

/** Tokens of a device, and of all. */
export const ownCount = (counts: Counts, rank: number): number => sumOf(counts.map((each) => each[rank]!));
export const allCount = (counts: Counts): number => sumOf(counts.map(sumOf));

function gatherTokens(x: Tensor, split: TokenSplit, counts: Counts): Tensor {
  const [items, n] = x.shape as [number, number];
  const count = ownCount(counts, split.rank);
  if (n > count) return gatherTokens(takeTokens(x, 0, count), split, counts);
  const y = tapeOf(x).tensor([items, allCount(counts), x.columns]);
  const gather = async (own: ArrayBuffer): Promise<ArrayBuffer[]> => [
    joinParts(await split.allGather(own), items, counts, y.stride),
  ];
  tapeOf(x).meet({ from: [x], into: [y], exchange: gather });
  return y;
}

/** Keys and values, `columns` of each; [items, tokens, …] */
export interface KeyValues {
  k: Columns;
  v: Columns;
  columns: number;
}

/** Keys and values of all devices; k and v [items, own tokens, …] → [items, tokens, …] */
export function gatherKeys(own: KeyValues, split: TokenSplit, counts: Counts): [Columns, Columns] {
  const { k, v, columns } = own;
  const [items] = k.x.shape as [number];
  const tape = tapeOf(k.x);
  const all = tape.tensor([items, allCount(counts), 2 * columns]);
  const gather = async (...bytes: ArrayBuffer[]): Promise<ArrayBuffer[]> => [
    joinParts(await split.allGather(packKeys(own, bytes, all.stride)), items, counts, all.stride),
  ];
  tape.meet({ from: operandsOf(k, v), into: [all], exchange: gather });
  return keysOf(all, columns);
}

/** The tensors of operands, each once. */
export const operandsOf = (...operands: readonly Columns[]): Tensor[] => [
  ...new Set(operands.map(({ x }) => x)),
];

/** Keys and values side by side, as columns of one tensor. */
export const keysOf = (x: Tensor, columns: number): [Columns, Columns] => [
  { x, first: 0 },
  { x, first: columns },
];

/** Keys and values side by side in rows of `stride` values. `bytes`: those of operandsOf(k, v). */
export function packKeys(
  { k, v, columns }: KeyValues,
  bytes: readonly ArrayBuffer[],
  stride: number,
): ArrayBuffer {
  const rows = k.x.rows({});
  const packed = { values: new Float32Array(rows * stride), stride, first: 0 };
  for (const [i, part] of [k, v].entries()) {
    const from = { values: new Float32Array(bytes[k.x === v.x ? 0 : i]!), ...placeOf(part) };
    copyBlock(from, 0, { ...packed, first: i * columns }, 0, { rows, columns });
  }
  return packed.values.buffer;
}

/** A place of rows of values: `first`: values before the first column. */
interface Place {
  stride: number;
  first: number;
}

export const placeOf = ({ x, first }: Columns): Place => ({ stride: x.stride, first });

/** Copies rows of columns, from one row of `from` on to one of `to`. */
export function copyBlock(
  from: Place & { values: Float32Array },
  fromRow: number,
  to: Place & { values: Float32Array },
  toRow: number,
  { rows, columns }: { rows: number; columns: number },
): void {
  for (let row = 0; row < rows; row++) {
    const at = (fromRow + row) * from.stride + from.first;
    to.values.set(from.values.subarray(at, at + columns), (toRow + row) * to.stride + to.first);
  }
}

/** Tokens of all devices, of each item, in the order of the sequences. `parts`: rows of `stride` values of each device. */
function joinParts(
  parts: readonly ArrayBuffer[],
  items: number,
  counts: Counts,
  stride: number,
): ArrayBuffer {
  const all = allCount(counts);
  const joined = new Float32Array(items * all * stride);
  for (const [device, runs] of runsOf(counts).entries()) {
    const values = new Float32Array(parts[device]!);
    const own = ownCount(counts, device);
    for (let item = 0; item < items; item++)
      for (const run of runs) {
        const first = (item * own + run.own) * stride;
        const to = (item * all + run.all) * stride;
        joined.set(values.subarray(first, first + run.count * stride), to);
      }
  }
  return joined.buffer;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
