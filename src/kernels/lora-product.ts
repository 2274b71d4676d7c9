// The product of two factors of a LoRA, into a matrix of f32: what a weight changes by.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';

/** Rows of a matrix of f32 without padding between them. */
export interface FloatRows {
  region: Region;
  rows: number;
  /** Of a convolution: those of all taps. */
  columns: number;
}

/** f32 [rows, rank], or with taps [rows, rank, taps]; the strides are those of its rows and of its ranks, in values. */
export interface LeftFactor {
  region: Region;
  row: number;
  rank: number;
  /** Taps that the factor has weights of its own for; 1: none. */
  taps: number;
}

/** Effect of a product on what is there: it replaces, is added, or multiplies. */
export type ProductOp = 'set' | 'add' | 'multiply';
const OPS: readonly ProductOp[] = ['set', 'add', 'multiply'];

/** y [rows, columns] op= scale · b · a, from row `firstRow` of `b` on; a f32 [rank, columns], with taps [rank, columns / taps] */
export function loraProduct(
  tape: Tape,
  y: FloatRows,
  { b, a, rank, firstRow = 0 }: { b: LeftFactor; a: Region; rank: number; firstRow?: number },
  { op, scale = 1 }: { op: ProductOp; scale?: number },
): void {
  const { region, rows, columns } = y;
  tape.dispatch('lora-product.wgsl', {
    params: { FACTOR_OP: OPS.indexOf(op) },
    args: {
      rows,
      columns,
      rank,
      taps: b.taps,
      first_row: firstRow,
      b_row: b.row,
      b_rank: b.rank,
      scale,
    },
    bind: { b: b.region, a, y: region },
    groups: () => [Math.ceil(columns / 32), Math.ceil(rows / 32)],
  });
}
