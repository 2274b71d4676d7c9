// Scales of codes that stand in a tensor of their own.

import type { Device } from '../gpu/device.ts';
import { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { NumberSource } from './formats.ts';
import { reaches, type Matrix, type MatrixPart } from './matrix.ts';

/** k's of a scale as packed. */
export const SCALED_KS = 128;

/** Rows that share a scale, and scales along a row: 1, or one for each 128 k's. */
export interface ScaleTiles {
  rows: number;
  blocks: number;
}

/** Writes the scales of a part, all of which `raw` holds row by row, into the windows that it reaches. */
export function spreadScales(
  device: Device,
  matrix: Matrix,
  part: MatrixPart,
  { raw, source, tiles }: { raw: Region; source: NumberSource; tiles: ScaleTiles },
): void {
  const tape = new Tape(device, {});
  const blocks = matrix.k / SCALED_KS;
  for (const window of matrix.windows.filter((window) => reaches(part, window))) {
    tape.dispatch('spread-scales.wgsl', {
      params: { SOURCE: source },
      args: {
        part_rows: part.rows,
        first_row: part.firstRow,
        row_step: part.rowStep ?? 1,
        tile_rows: tiles.rows,
        tile_blocks: tiles.blocks,
        blocks,
        unit: part.placement.unit,
        unit_stride: part.placement.unitStride,
        first_column: part.placement.firstColumn,
        first_group: window.firstGroup,
        groups: window.groups,
      },
      bind: { raw, scales: window.scales! },
      groups: () => [Math.ceil(part.rows / 64), blocks],
    });
  }
  tape.finish();
  tape.run({});
  tape.destroy();
}

/** Writes the exponents of a part, bytes for each row and 32 k's of which `raw` holds all, into the windows that it reaches. */
export function spreadExponents(device: Device, matrix: Matrix, part: MatrixPart, raw: Region): void {
  const tape = new Tape(device, {});
  for (const window of matrix.windows.filter((window) => reaches(part, window))) {
    tape.dispatch('spread-exponents.wgsl', {
      args: {
        part_rows: part.rows,
        first_row: part.firstRow,
        row_step: part.rowStep ?? 1,
        blocks: matrix.blocks,
        unit: part.placement.unit,
        unit_stride: part.placement.unitStride,
        first_column: part.placement.firstColumn,
        first_group: window.firstGroup,
        groups: window.groups,
      },
      bind: { raw, scales: window.scales! },
      groups: () => [Math.ceil(part.rows / 64), matrix.blocks],
    });
  }
  tape.finish();
  tape.run({});
  tape.destroy();
}
