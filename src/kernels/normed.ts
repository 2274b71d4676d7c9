// Rows under an RMSNorm that the next product may apply itself: products of decode rows on GPUs do, which saves a dispatch for each norm.

import { tapeOf } from '../gpu/tape.ts';
import type { Extent, Tensor } from '../gpu/tensor.ts';
import type { Matrix } from './matrix.ts';
import { isDecode } from './matvec.ts';
import { rmsnorm } from './rmsnorm.ts';

/** Rows of x under a norm; their readers must be recorded before x is changed. */
export class NormedRows {
  readonly x: Tensor;
  /** [columns] */
  readonly weight: Tensor;
  readonly eps: number;
  readonly #changes: number;
  #rows: Tensor | null = null;

  constructor(x: Tensor, weight: Tensor, eps: number) {
    this.x = x;
    this.weight = weight;
    this.eps = eps;
    this.#changes = tapeOf(x).changesOf(x);
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

  /** Throws if a kernel has written to x since the norm was asked for. */
  checkUnchanged(): void {
    if (tapeOf(this.x).changesOf(this.x) !== this.#changes)
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

/** The norm that a product with the matrix applies itself; null: its input is a tensor. */
export function appliedNorm(x: Rows, { order }: Matrix): NormedRows | null {
  if (!(x instanceof NormedRows) || order !== null) return null;
  x.checkUnchanged();
  return x;
}
