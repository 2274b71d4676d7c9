// Matrices of nunchaku's files in 4 bits with a scale and an offset for 64 inputs, which give modulation.

import { checkShape, codedDtype, tensorOf, unsupported, type CodedTensors } from '../tensors/coded-tensor.ts';
import { halfValues } from '../tensors/half-values.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { computedNumbers, computedTensor } from './computed-rows.ts';
import { interleavedCodes, turnedHalves } from './nunchaku-tiles.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Types of vectors and matrices of 16 bits. */
export const HALVES = { dtypes: ['BF16', 'F16'], dimensions: 1 };
export const MATRIX = { dtypes: ['BF16', 'F16'], dimensions: 2 };
export const CODES = '.qweight';
/** k's that share a scale and an offset. */
const GROUP_KS = 64;

/**
 * A matrix whose outputs, shifts, scales and gates for each column, take turns in the file and follow one another in the page; the file has 1
 * added to the biases of scales.
 */
export function modulationOf(module: string, tensors: Tensors): TensorEntry[] {
  const stored = tensorOf(tensors, module + CODES, { dtypes: ['I32'], dimensions: 2 });
  const [quarters = 0, halves = 0] = stored.shape;
  const [rows, k] = [4 * quarters, 2 * halves];
  const groups = k / GROUP_KS;
  const [scales, zeros] = ['wscales', 'wzeros'].map((end) => tensorOf(tensors, `${module}.${end}`, MATRIX));
  if (k % GROUP_KS !== 0 || rows % k !== 0)
    throw unsupported(
      stored.name,
      `tensor ${stored.name} is of [${rows}, ${k}], and a modulation has whole multiples of its inputs as outputs`,
    );
  for (const entry of [scales!, zeros!])
    checkShape(entry, [Math.max(groups, entry.shape[0] ?? 0), rows], `${rows} rows of ${groups} groups`);
  const turns = rows / k;
  const order = (row: number): number => (row % k) * turns + Math.floor(row / k);
  const name = `${module}.weight`;
  const part = (end: string, entry: TensorEntry): TensorEntry =>
    computedTensor(
      entry,
      { name: name + end, dtype: entry.dtype, shape: [rows, groups] },
      turnedHalves(entry, rows, groups, order),
    );
  const codes = computedTensor(
    stored,
    { name: `${name}.codes`, dtype: 'U8', shape: [rows, k / 2] },
    interleavedCodes(stored, rows, k, order),
  );
  const coded: CodedTensors<TensorEntry> = {
    rule: 'affine',
    bits: 4,
    layout: 'rows',
    signed: false,
    groupKs: GROUP_KS,
    codes,
    scales: part('.scales', scales!),
    zeros: null,
    offsets: part('.offsets', zeros!),
    groupOf: null,
    order: null,
  };
  const bias = tensorOf(tensors, `${module}.bias`, HALVES);
  checkShape(bias, [rows], `${rows} outputs`);
  const biases = async (): Promise<Float32Array> => {
    const all = await valuesOf(bias);
    const isScale = (turn: number): boolean => turn === 1 || turn === turns - 2;
    return all.map((_, row) => all[order(row)]! - Number(isScale(Math.floor(row / k))));
  };
  return [
    codedWeight(name, coded, rows, k),
    computedTensor(bias, { name: bias.name, dtype: 'F32', shape: [rows] }, computedNumbers(1, rows, biases)),
  ];
}

export function codedWeight(
  name: string,
  coded: CodedTensors<TensorEntry>,
  rows: number,
  k: number,
): TensorEntry {
  const { codes, scales, offsets } = coded;
  const bytes = codes.bytes + scales.bytes + (offsets?.bytes ?? 0);
  const { source, offset } = codes;
  return { name, dtype: codedDtype(name, coded, k), shape: [rows, k], source, offset, bytes, coded };
}

/** Values of a small tensor in its own order. */
export async function valuesOf({ source, offset, bytes, dtype }: TensorEntry): Promise<Float32Array> {
  const read = await source.read(offset, bytes);
  return dtype === 'F32' ? new Float32Array(read.buffer) : halfValues(new Uint16Array(read.buffer), dtype);
}
