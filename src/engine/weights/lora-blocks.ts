// LoRA factors beside a matrix: which modules of a LoRA's file belong to which parts of the matrix, and where their numbers are
// in the matrix's buffer, in the layout of shaders/lib/lora.wgsl.

import { badCheckpoint, unsupported } from '../../files/error.ts';
import type { LoraFile, LoraModule } from '../../files/checkpoint/lora.ts';
import { paddedColumns, Tensor, type Region } from '../../gpu/tensor.ts';
import { SOURCES, sourceNames } from '../../kernels/formats.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import { widen } from '../../kernels/widen.ts';
import type { Wanted } from './upload.ts';

/** A LoRA on the device, with its number there. */
export interface LoraKey {
  number: number;
}

/** Factors of one LoRA for a matrix, by part; null: the part has none. Offsets are in quads (four values) within the block. */
export interface Block {
  parts: ({ rank: number; scale: number; a: number; b: number } | null)[];
  quads: number;
  /** Quads (four values) before the block in its buffer. */
  first: number;
}

/** A block with the file's modules that fill it. */
export type Placed = Block & { modules: (LoraModule | null)[] };

export function headQuads(adapters: number, parts: number): number {
  return 2 + adapters * parts + Math.ceil((adapters * parts) / 4);
}

export function rankOf(blocks: ReadonlyMap<LoraKey, Block>): number {
  const ranks = [...blocks.values()].flatMap(({ parts }) => parts.map((part) => part?.rank ?? 0));
  return 4 * Math.ceil(Math.max(...ranks) / 4);
}

export function headOf(
  matrix: Matrix,
  keys: readonly LoraKey[],
  blocks: ReadonlyMap<LoraKey, Block>,
): ArrayBuffer {
  const { parts, columns } = matrix;
  const head = new ArrayBuffer(16 * headQuads(keys.length, parts.length));
  const words = new Uint32Array(head);
  const floats = new Float32Array(head);
  const firsts = [1, 2].map((part) => parts[part]?.placement.firstColumn ?? 0xffffffff);
  words.set([keys.length, parts.length, rankOf(blocks) / 4, Number(takesTurns(matrix))], 0);
  words.set([...firsts, columns, 0], 4);
  keys.forEach((key, adapter) => {
    const block = blocks.get(key);
    block?.parts.forEach((part, p) => {
      if (!part) return;
      const i = adapter * parts.length + p;
      words.set([Math.ceil(part.rank / 4), part.rank, block.first + part.a, block.first + part.b], 8 + 4 * i);
      floats[8 + 4 * keys.length * parts.length + i] = part.scale;
    });
  });
  return head;
}

/** Returns true if gate and up columns alternate in groups of two. */
function takesTurns({ parts }: Matrix): boolean {
  return parts.length === 2 && parts[0]!.placement.unit === 2;
}

/**
 * Finds the matrices to which a LoRA's modules belong. Throws unsupported for a module without one, bad_checkpoint for a
 * different shape.
 */
export function placeModules(matrices: readonly Matrix[], { path, modules }: LoraFile): Map<Matrix, Placed> {
  const left = new Map(modules.map((module) => [module.name, module]));
  const placed = new Map<Matrix, Placed>();
  for (const matrix of matrices) {
    const found = matrix.parts.map(({ name }) => {
      // Published LoRAs within a model leave its own matrices under `base_layer`.
      const own = name.replace(/(\.base_layer)?\.weight$/, '');
      return left.get(own) ?? left.get(`model.${own}`) ?? null;
    });
    for (const module of new Set(found)) {
      if (!module) continue;
      left.delete(module.name);
      const rows = matrix.parts.reduce((sum, part, i) => sum + (found[i] === module ? part.rows : 0), 0);
      checkShapes(path, module, rows, matrix.k);
    }
    if (found.some(Boolean)) placed.set(matrix, blockOf(matrix, found));
  }
  const [unknown] = left.keys();
  if (unknown === undefined) return placed;
  throw unsupported(
    `${path} adapts ${unknown}, which is not among this language model's ${[...new Set(matrices.flatMap(({ parts }) => parts.map(({ name }) => name.split('.').at(-2))))].join(', ')}: train one on those`,
    unknown,
  );
}

function checkShapes(path: string, { name, a, b }: LoraModule, rows: number, k: number): void {
  if (a.shape[1] !== k || b.shape[0] !== rows) {
    throw badCheckpoint(
      `${path}: ${name} has factors for [${b.shape[0]}, ${a.shape[1]}], the model's is [${rows}, ${k}]: it was trained on another model`,
      name,
    );
  }
  const bad = [a, b].find(({ dtype }) => !SOURCES[dtype]);
  if (bad)
    throw unsupported(
      `${path}: ${bad.name} is stored as ${bad.dtype}, and only ${sourceNames()} are read: convert it`,
      bad.name,
    );
}

function blockOf(matrix: Matrix, modules: (LoraModule | null)[]): Placed {
  let quads = 0;
  const take = (count: number): number => (quads += count) - count;
  const parts = modules.map((module, i) => {
    if (!module) return null;
    const { rank, scale } = module;
    const a = take((rank * paddedColumns(matrix.k)) / 4);
    const b = take(matrix.parts[i]!.rows * Math.ceil(rank / 4));
    return { rank, scale, a, b };
  });
  return { parts, quads, first: 0, modules };
}

/** Where rows of a factor go: the first quad in the matrix's buffer, f32 values of a row and from one row to the next. */
interface FactorPlace {
  quad: number;
  columns: number;
  stride: number;
  /** Rows of the file's tensor. */
  from: number;
  end: number;
}

/** Returns the uploads of both factors of each part, widened to f32 row by row. */
export function factorUploads(
  matrix: Matrix,
  region: Region,
  { parts, first }: Block,
  modules: readonly (LoraModule | null)[],
): Wanted[] {
  const y = new Tensor([1, region.size / 4], 'f32', { region });
  /** Rows [from, end) of an entry. */
  const rowsOf = (entry: LoraModule['a'], place: FactorPlace): Wanted => ({
    entry,
    place: (tape, { raw, source, firstRow, rows }) => {
      const { quad, columns, stride, from, end } = place;
      const first = Math.max(from, firstRow);
      const size = Math.max(0, Math.min(end, firstRow + rows) - first) * columns;
      if (size === 0) return;
      const firstColumn = 4 * quad + (first - from) * stride;
      const skip = (first - firstRow) * columns;
      widen(
        tape,
        y,
        { firstColumn, unit: columns, unitStride: stride },
        { raw, source: source!, size, skip },
      );
    },
  });
  return modules.flatMap((module, i) => {
    if (!module) return [];
    const { rank, a, b } = parts[i]!;
    const { firstRow: from, rows } = matrix.parts[i]!;
    const [ofA, ofB] = [paddedColumns(matrix.k), 4 * Math.ceil(rank / 4)];
    return [
      rowsOf(module.a, { quad: first + a, columns: matrix.k, stride: ofA, from: 0, end: rank }),
      rowsOf(module.b, { quad: first + b, columns: rank, stride: ofB, from, end: from + rows }),
    ];
  });
}
