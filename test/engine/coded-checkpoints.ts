// Checkpoints of the model that ships whose matrices GPTQ, AWQ and compressed-tensors hold, with random codes, and the same weights in f32.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSafetensors, safetensorsHead, type TensorSpec } from '../../src/files/tensors/safetensors.ts';
import { shippedModelPath } from '../../src/index.ts';
import { memorySource } from '../files/memory-source.ts';
import { f16Bits, toF16, type Random } from '../kernels/compute.ts';

export interface Made {
  spec: TensorSpec;
  data: Uint8Array;
}

/** A matrix in codes: w[row, i] = scale[row, group of i] · (code[row, i] - zero[row, group of i]). */
export interface CodedMatrix {
  bits: 4 | 8;
  rows: number;
  k: number;
  groups: number;
  codes: Uint8Array;
  /** [rows, groups] */
  zeros: Uint8Array;
  scales: Float32Array;
  /** [k] */
  groupOf: Int32Array;
}

export function randomMatrix(
  bits: 4 | 8,
  [rows, k]: readonly [number, number],
  group: number,
  random: Random,
): CodedMatrix {
  const groups = Math.ceil(k / group);
  const most = 2 ** bits;
  return {
    ...{ bits, rows, k, groups },
    codes: Uint8Array.from({ length: rows * k }, () => random.integer(most)),
    zeros: Uint8Array.from({ length: rows * groups }, () => 1 + random.integer(most - 1)),
    scales: Float32Array.from({ length: rows * groups }, () => toF16((1 + random.next()) * 2 ** -(bits + 3))),
    groupOf: Int32Array.from({ length: k }, (_, i) => Math.floor(i / group)),
  };
}

export const words = (name: string, shape: number[], data: Uint32Array | Int32Array): Made => ({
  spec: { name, dtype: 'I32', shape },
  data: new Uint8Array(data.buffer),
});

export function halves(name: string, shape: number[], values: readonly number[]): Made {
  const data = Uint16Array.from(values, (value) => f16Bits(value));
  return { spec: { name, dtype: 'F16', shape }, data: new Uint8Array(data.buffer) };
}

/** Packs fields [outer, inner] along the inner dimension, lowest bits first. */
function packed(
  bits: number,
  outer: number,
  inner: number,
  at: (o: number, i: number) => number,
): Uint32Array {
  const per = 32 / bits;
  const out = new Uint32Array((outer * inner) / per);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) out[(o * inner + i - (i % per)) / per]! |= at(o, i) << (bits * (i % per));
  return out;
}

/** Swaps the two dimensions of words. */
function turned(data: Uint32Array, outer: number): Uint32Array {
  const inner = data.length / outer;
  return Uint32Array.from(data, (_, at) => data[(at % outer) * inner + Math.floor(at / outer)]!);
}

const columnwise = ({ scales, rows, groups }: CodedMatrix): number[] =>
  Array.from(scales, (_, at) => scales[(at % rows) * groups + Math.floor(at / rows)]!);

/** Zero points less 1. */
export function gptqTensors(module: string, matrix: CodedMatrix): Made[] {
  const { bits, rows, k, groups, codes, zeros, groupOf } = matrix;
  const qweight = turned(
    packed(bits, rows, k, (row, i) => codes[row * k + i]!),
    rows,
  );
  const qzeros = packed(bits, groups, rows, (group, row) => zeros[row * groups + group]! - 1);
  return [
    words(`${module}.qweight`, [(k * bits) / 32, rows], qweight),
    words(`${module}.qzeros`, [groups, (rows * bits) / 32], qzeros),
    halves(`${module}.scales`, [groups, rows], columnwise(matrix)),
    words(`${module}.g_idx`, [k], groupOf),
    { spec: { name: `${module}.bias`, dtype: 'F16', shape: [rows] }, data: new Uint8Array(2 * rows) },
  ];
}

const AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7];

export function awqTensors(module: string, matrix: CodedMatrix): Made[] {
  const { rows, k, groups, codes, zeros } = matrix;
  const of = (slot: number): number => slot - (slot % 8) + AWQ_ORDER[slot % 8]!;
  const qweight = packed(4, k, rows, (i, slot) => codes[of(slot) * k + i]!);
  const qzeros = packed(4, groups, rows, (group, slot) => zeros[of(slot) * groups + group]!);
  return [
    words(`${module}.qweight`, [k, rows / 8], qweight),
    words(`${module}.qzeros`, [groups, rows / 8], qzeros),
    halves(`${module}.scales`, [groups, rows], columnwise(matrix)),
  ];
}

export function packedTensors(module: string, matrix: CodedMatrix): Made[] {
  const { bits, rows, k, groups, codes, zeros, scales } = matrix;
  const zeroWords = turned(
    packed(bits, groups, rows, (group, row) => zeros[row * groups + group]!),
    groups,
  );
  const shape = new Uint8Array(BigInt64Array.from([BigInt(rows), BigInt(k)]).buffer);
  return [
    words(
      `${module}.weight_packed`,
      [rows, (k * bits) / 32],
      packed(bits, rows, k, (row, i) => codes[row * k + i]!),
    ),
    words(`${module}.weight_zero_point`, [(rows * bits) / 32, groups], zeroWords),
    halves(`${module}.weight_scale`, [rows, groups], [...scales]),
    { spec: { name: `${module}.weight_shape`, dtype: 'I64', shape: [2] }, data: shape },
  ];
}

/** Signed bytes with a scale a row; zero points must be 128. */
export function byteTensors(module: string, { rows, k, codes, scales }: CodedMatrix): Made[] {
  const data = codes.map((code) => code ^ 128);
  return [
    { spec: { name: `${module}.weight`, dtype: 'I8', shape: [rows, k] }, data },
    halves(`${module}.weight_scale`, [rows, 1], [...scales]),
  ];
}

export function wideTensor(
  module: string,
  { rows, k, groups, codes, zeros, scales, groupOf }: CodedMatrix,
): Made {
  const values = Float32Array.from(codes, (code, at) => {
    const group = Math.floor(at / k) * groups + groupOf[at % k]!;
    return scales[group]! * (code - zeros[group]!);
  });
  const spec = { name: `${module}.weight`, dtype: 'F32' as const, shape: [rows, k] };
  return { spec, data: new Uint8Array(values.buffer) };
}

export function writeCheckpoint(
  folder: string,
  more: Record<string, unknown>,
  tensors: readonly Made[],
): void {
  cpSync(shippedModelPath(), folder, { recursive: true, dereference: true });
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, ...more }));
  writeTensors(join(folder, 'model.safetensors'), tensors);
}

function writeTensors(path: string, tensors: readonly Made[]): void {
  const head = safetensorsHead(tensors.map(({ spec }) => spec));
  writeFileSync(path, Buffer.concat([head, ...tensors.map(({ data }) => data)]));
}

/** The shipped model's tensors, with those of its projections replaced. */
export async function shippedTensors(
  replace: (module: string, shape: [number, number]) => Made[] | null,
): Promise<Made[]> {
  const file = readFileSync(join(shippedModelPath(), 'model.safetensors'));
  const { tensors } = await readSafetensors(memorySource('model.safetensors', file));
  return [...tensors.values()].flatMap(({ name, dtype, shape, offset, bytes }) => {
    const isProjection = /layers\..*_proj\.weight$/.test(name);
    const made = isProjection ? replace(name.replace(/\.weight$/, ''), shape as [number, number]) : null;
    return (
      made ?? [{ spec: { name, dtype, shape } as TensorSpec, data: file.subarray(offset, offset + bytes) }]
    );
  });
}

/** An adapter of random factors of rank 4 for these modules, by the shapes of their matrices. */
export function writeAdapter(
  folder: string,
  modules: ReadonlyMap<string, readonly [number, number]>,
  random: Random,
): void {
  mkdirSync(folder);
  const rank = 4;
  const factors = [...modules].flatMap(([module, [rows, k]]): Made[] =>
    Object.entries({ A: [rank, k], B: [rows, rank] }).map(([side, shape]) => ({
      spec: { name: `base_model.model.${module}.lora_${side}.weight`, dtype: 'F32', shape },
      data: new Uint8Array(random.floats(shape[0]! * shape[1]!).map((value) => value / 16).buffer),
    })),
  );
  writeTensors(join(folder, 'adapter_model.safetensors'), factors);
  const names = [...new Set([...modules.keys()].map((module) => module.split('.').at(-1)!))];
  const config = { peft_type: 'LORA', r: rank, lora_alpha: rank, target_modules: names };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
}
