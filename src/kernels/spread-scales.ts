// Scales of codes that stand in a tensor of their own.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { NumberSource } from './formats.ts';
import type { Matrix, MatrixPart } from './matrix.ts';
import { writePart } from './part-windows.ts';

/** k's of a scale as packed. */
export const SCALED_KS = 128;

/** Rows that share a scale, and scales along a row: 1, or one for each 128 k's. */
export interface ScaleTiles {
  rows: number;
  blocks: number;
}

/** Writes the scales of a part, all of which `raw` holds row by row, into the windows that it reaches. */
export function spreadScales(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  { raw, source, tiles }: { raw: Region; source: NumberSource; tiles: ScaleTiles },
): void {
  const blocks = matrix.k / SCALED_KS;
  writePart(tape, matrix, part, ({ scales }) => ({
    shader: 'spread-scales.wgsl',
    params: { SOURCE: source },
    args: { ...rowsOf(part), tile_rows: tiles.rows, tile_blocks: tiles.blocks, blocks },
    bind: { raw, scales: scales! },
    rows: part.rows,
    down: blocks,
  }));
}

/** Writes the exponents of a part, bytes for each row and 32 k's of which `raw` holds all, into the windows that it reaches. */
export function spreadExponents(tape: Tape, matrix: Matrix, part: MatrixPart, raw: Region): void {
  writePart(tape, matrix, part, ({ scales }) => ({
    shader: 'spread-exponents.wgsl',
    args: { ...rowsOf(part), blocks: matrix.blocks },
    bind: { raw, scales: scales! },
    rows: part.rows,
    down: matrix.blocks,
  }));
}

function rowsOf({ firstRow, rowStep = 1 }: MatrixPart): Record<string, number> {
  return { first_row: firstRow, row_step: rowStep };
}
