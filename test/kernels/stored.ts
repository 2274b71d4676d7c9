// Matrices of blocks as GGUF files hold them: the goldens of scripts/reference/stored_blocks.py, and random blocks with scales of ordinary size.

import { readFileSync } from 'node:fs';
import { readSafetensors } from '../../src/files/tensors/safetensors.ts';
import type { Device } from '../../src/gpu/device.ts';
import { embedTokens } from '../../src/kernels/embed-tokens.ts';
import { FORMATS, formatOfSource, type FormatName, type PackedName } from '../../src/kernels/formats.ts';
import {
  allocateMatrix,
  stacked,
  type Matrix,
  type MatrixForm,
  type MatrixPart,
} from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { STORED_BLOCKS } from '../../src/kernels/stored-blocks.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { memorySource } from '../files/memory-source.ts';
import { compute, f16Bits, toF16, upload, type Random } from './compute.ts';

/** Formats whose blocks hold their scales. */
export const STORED = (Object.keys(STORED_BLOCKS) as PackedName[]).filter(
  (name) => STORED_BLOCKS[name].scaleType !== 'tensor',
);

export interface StoredMatrix {
  rows: number;
  k: number;
  blocks: Uint8Array;
}

export async function golden(name: PackedName): Promise<StoredMatrix & { values: Float32Array }> {
  const bytes = readFileSync(new URL('../golden/stored-blocks.safetensors', import.meta.url));
  const { tensors } = await readSafetensors(memorySource('golden', bytes));
  const read = (of: string) => {
    const { offset, bytes: size, shape } = tensors.get(`${name.toUpperCase()}.${of}`)!;
    return { shape, data: Uint8Array.from(bytes.subarray(offset, offset + size)) };
  };
  const { shape, data } = read('values');
  const [rows, k] = shape as [number, number];
  return { rows, k, blocks: read('blocks').data, values: new Float32Array(data.buffer) };
}

/** Random codes and small scales under f16 scales of up to `size`, or exponents of it. */
export function randomBlocks(
  name: PackedName,
  rows: number,
  k: number,
  random: Random,
  size = 2 ** -7,
): StoredMatrix {
  const { values, bytes, scalesAt, scaleType } = STORED_BLOCKS[name];
  const count = (rows * k) / values;
  const blocks = Uint8Array.from({ length: count * bytes }, () => random.integer(256));
  for (let i = 0; i < count; i++) {
    for (const at of scalesAt) {
      const half = () => f16Bits(toF16(random.float() * size));
      if (scaleType === 'parts') putParts(new DataView(blocks.buffer), i * bytes + at, half());
      else if (scaleType === 'e4m3') blocks.set([random.integer(16), random.integer(16)], i * bytes + at);
      else if (scaleType === 'e8m0') blocks[i * bytes + at] = 127 + Math.log2(size) + random.integer(4);
      else new DataView(blocks.buffer).setUint16(i * bytes + at, half(), true);
    }
  }
  return { rows, k, blocks };
}

/** Four bits of an f16 above each 12 of eight bytes. */
function putParts(view: DataView, at: number, half: number): void {
  for (let i = 0; i < 4; i++) {
    const low = view.getUint16(at + 2 * i, true) & 0xfff;
    view.setUint16(at + 2 * i, low | (((half >> (4 * i)) & 15) << 12), true);
  }
}

const CHUNK_ROWS = 6;

/** Packs these rows in a format: their own, or f32. */
export function packStored(
  device: Device,
  name: PackedName,
  { rows, k, blocks }: StoredMatrix,
  {
    format = formatOfSource(name).name as FormatName,
    parts,
    ...form
  }: MatrixForm & { format?: FormatName; parts?: MatrixPart[] } = {},
): Matrix {
  const all = parts ?? stacked([{ name: 'w', rows }]);
  const matrix = allocateMatrix(device, FORMATS[format], k, all, form);
  const rowBytes = blocks.length / rows;
  runOnce(device, (tape) => {
    let first = 0;
    for (const part of all) {
      for (let firstRow = 0; firstRow < part.rows; firstRow += CHUNK_ROWS) {
        const count = Math.min(CHUNK_ROWS, part.rows - firstRow);
        const at = (first + firstRow) * rowBytes;
        const raw = upload(device, blocks.subarray(at, at + count * rowBytes));
        packRows(tape, matrix, part, { raw, source: name, firstRow, rows: count });
      }
      first += part.rows;
    }
  });
  return matrix;
}

/** Columns of a matrix as f32, through the embedding. */
export async function columnsOf(
  device: Device,
  matrix: Matrix,
  { first = 0, count = matrix.columns } = {},
): Promise<Float32Array[]> {
  const ids = Uint32Array.from({ length: count }, (_, i) => first + i);
  const tensor = device.tensor('step', 'ids', [1, count], ids);
  return compute({
    device,
    capacity: {},
    sizes: {},
    record: (tape) => embedTokens(tape, tensor, matrix, null),
  });
}
