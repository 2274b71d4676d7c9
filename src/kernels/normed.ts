// Rows under an RMSNorm that the next product may apply itself: products of few decode rows on GPUs do, which saves a dispatch for each norm. A
// dispatch takes 2 to 5 µs there, the multiplications hide behind the loads of weights, and they make up 7 % of the arithmetic of one row in int4,
// but a fifth in tiles of eight rows.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Extent, Tensor } from '../gpu/tensor.ts';
import { BLOCK, type Matrix } from './matrix.ts';
import { isDecode, slicesOf, type RowNorm } from './matvec.ts';
import { rmsnorm } from './rmsnorm.ts';
import { dispatchRows, type Strip } from './row-strips.ts';

/** Most rows that products norm wholly themselves. */
const MOST_ROWS = 4;

/** Rows multiplied by a norm's weight [rows, columns], and what their products are multiplied by [rows, 1]. */
interface ScaledRows {
  scaled: Tensor;
  rates: Tensor;
}

/** Rows of x under a norm; their readers must be recorded before x is changed. */
export class NormedRows {
  readonly x: Tensor;
  /** [columns] */
  readonly weight: Tensor;
  readonly eps: number;
  readonly #changes: number;
  #rows: Tensor | null = null;
  #scaled: ScaledRows | null = null;

  constructor(x: Tensor, weight: Tensor, eps: number) {
    this.x = x;
    this.weight = weight;
    this.eps = eps;
    this.#changes = tapeOf(x).changes.of(x);
  }

  get shape(): readonly Extent[] {
    return this.x.shape;
  }

  get columns(): number {
    return this.x.columns;
  }

  get tape(): Tensor['tape'] {
    return this.x.tape;
  }

  /** The normed rows, computed once by a dispatch of their own: [rows, columns] */
  get rows(): Tensor {
    if (this.#rows === null) this.checkUnchanged();
    return (this.#rows ??= rmsnorm(this.x, this.weight, this.eps));
  }

  get scaled(): ScaledRows {
    if (this.#scaled === null) this.checkUnchanged();
    return (this.#scaled ??= scaledRows(this));
  }

  /** Throws if a kernel has written to x since the norm was asked for. */
  checkUnchanged(): void {
    if (tapeOf(this.x).changes.of(this.x) !== this.#changes)
      throw new Error(`a norm of [${this.shape.join(', ')}] is read after a kernel has changed its rows`);
  }
}

/** Input of a product. */
export type Rows = Tensor | NormedRows;

/** rmsnorm(x, weight, eps) for products, of which those of decode rows apply the norm themselves; x [rows, columns], weight [columns]. */
export function normed(x: Tensor, weight: Tensor, eps: number): Rows {
  return isDecode(x) ? new NormedRows(x, weight, eps) : rmsnorm(x, weight, eps);
}

/** The rows as a tensor, for readers other than products. */
export function rowsOf(x: Rows): Tensor {
  return x instanceof NormedRows ? x.rows : x;
}

/** A norm that a product applies to the rows that it multiplies. */
export interface AppliedNorm extends RowNorm {
  x: Tensor;
  operands(strip: Strip): Record<string, Operand>;
}

/**
 * The norm that a product with the matrix applies itself; null: its input is a tensor. Few rows are normed wholly by the product; with more, each
 * group of columns would multiply all of them by the norm's weight again. Both give the same bits.
 */
export function appliedNorm(x: Rows, { order, smooth }: Matrix): AppliedNorm | null {
  if (!(x instanceof NormedRows) || order !== null || smooth !== null) return null;
  const { weight, eps } = x;
  if (x.x.rows(tapeOf(x).capacity) > MOST_ROWS) {
    const { scaled, rates } = x.scaled;
    return { variant: 'scaled', x: scaled, eps, operands: (strip) => ({ rates: strip.of(rates) }) };
  }
  x.checkUnchanged();
  return { variant: 'rms', x: x.x, eps, operands: () => ({ gain: weight }) };
}

function scaledRows({ x, weight, eps }: NormedRows): ScaledRows {
  const tape = tapeOf(x);
  const scaled = tape.tensor(x.shape);
  const rates = tape.tensor([...x.shape.slice(0, -1), 1]);
  const blocks = x.stride / BLOCK;
  dispatchRows('normed.wgsl', {
    strips: { x, y: scaled, rates },
    params: { SLICES: slicesOf(blocks) },
    args: { blocks, columns: x.columns, eps },
    bind: { weight },
  });
  return { scaled, rates };
}
