// A module of a LoRA's file: what it adds to one weight of a model, as the factors that the file stores.

import type { TensorEntry } from '../tensors/safetensors.ts';

/** A matrix [rows, columns · taps] that is stored whole. */
export interface WholeFactor {
  whole: TensorEntry;
}

/**
 * The product of `b` [rows, rank] and `a` [rank, columns · taps]. With `mid` [rank, rank, taps] it is Tucker's form, in which `a` is
 * [rank, columns]. `isTransposed`: `b` is stored as [rank, rows].
 */
export interface ProductFactor {
  b: TensorEntry;
  a: TensorEntry;
  mid: TensorEntry | null;
  isTransposed: boolean;
}

export type Factor = WholeFactor | ProductFactor;

/** `sum`: one factor (LoRA, LoCon, full differences); `hadamard`: the element-wise product of two (LoHa); `kronecker`: LoKr. */
export type DeltaKind = 'sum' | 'hadamard' | 'kronecker';

export interface Delta {
  kind: DeltaKind;
  factors: readonly Factor[];
  /** The factor on the delta: alpha by rank. */
  scale: number;
  /** Whether it takes the place of the weight instead of being added to it; scales other than 0 have no effect on it. */
  replaces?: true;
}

export interface ImageLoraModule {
  /** The module's name as the file has it, without the ending that names the factor. */
  name: string;
  /** Added to the weight; null: only the bias changes. */
  weight: Delta | null;
  /** Added to the bias. */
  bias: Delta | null;
  /** DoRA: lengths that the rows of the changed weight get, or its columns. */
  magnitude: TensorEntry | null;
}

export function isWhole(factor: Factor): factor is WholeFactor {
  return 'whole' in factor;
}

export function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Rows and columns of a factor; the columns of a convolution are those of all its taps. Shapes have been checked by readModules. */
export function sizeOf(factor: Factor): { rows: number; columns: number } {
  if (isWhole(factor)) {
    const [rows = 1, ...behind] = factor.whole.shape;
    return { rows, columns: elements(behind) };
  }
  const { a, b, mid, isTransposed } = factor;
  const taps = mid ? elements(mid.shape.slice(2)) : 1;
  return { rows: b.shape[isTransposed ? 1 : 0]!, columns: elements(a.shape.slice(1)) * taps };
}

/** Rows and columns of a delta. */
export function sizeOfDelta({ kind, factors }: Delta): { rows: number; columns: number } {
  const [first, second] = factors.map(sizeOf) as [ReturnType<typeof sizeOf>, ReturnType<typeof sizeOf>?];
  if (kind !== 'kronecker') return first;
  return { rows: first.rows * second!.rows, columns: first.columns * second!.columns };
}
