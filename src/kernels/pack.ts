// Packs rows of a checkpoint's tensors into the layout of a matrix.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import { storedBlock, type SourceFormat } from './formats.ts';
import { gridOperand } from './grid-points.ts';
import { BLOCK, weightOperands, type Matrix, type MatrixPart } from './matrix.ts';
import { writePart } from './part-windows.ts';

export interface PackedChunk {
  raw: Region;
  source: SourceFormat;
  firstRow: number;
  rows: number;
  /** k's of a transposed tensor, a multiple of 32 but for the last; left out: the rows are whole. */
  ks?: { first: number; count: number } | undefined;
}

/** Packs the rows of `raw`, in the checkpoint's format, that belong to a part, into the windows that they reach; quantizes if a window's format requires it. */
export function packRows(tape: Tape, matrix: Matrix, part: MatrixPart, chunk: PackedChunk): void {
  const { ks } = chunk;
  const numbers = {
    WINOGRAD: matrix.winograd,
    TRANSPOSED: ks !== undefined,
    FRAMES: matrix.time.frames,
    FRAME: matrix.time.frame,
  };
  writePart(tape, matrix, part, (window) => {
    const { name, packing, sources } = window.format;
    if (!sources.includes(chunk.source)) throw new Error(`${name} is not packed from ${chunk.source}`);
    const isStored = packing === 'stored';
    return {
      shader: isStored ? 'repack.wgsl' : 'pack.wgsl',
      params: isStored ? { W: chunk.source } : { W: name, SOURCE: chunk.source, ...numbers },
      args: {
        rows: chunk.rows,
        k: ks?.count ?? matrix.k,
        first_block: (ks?.first ?? 0) / BLOCK,
        taps: matrix.taps,
        blocks: matrix.blocks,
        first_row: chunk.firstRow - part.firstRow,
        row_step: part.rowStep ?? 1,
      },
      bind: {
        raw: chunk.raw,
        ...weightOperands(tape.device, window),
        ...gridOperand(tape.device, storedBlock(chunk.source) ?? {}),
      },
      rows: chunk.rows,
      down: ks ? Math.ceil(ks.count / BLOCK) : matrix.blocks,
    };
  });
}
