// The two sides of a product as its kernels take them: rows in f32, in f16 or in 8 bits, for the windows of a matrix that have one such kernel.

import type { Tensor } from '../gpu/tensor.ts';
import { paddedRows } from '../gpu/tensor.ts';
import { tapeOf } from '../gpu/tape.ts';
import { gemmKernel, usesGemm } from './gemm.ts';
import { gemmInt8Kernel } from './gemm-int8.ts';
import { gemmMatrixKernel, usesGemmMatrix } from './gemm-matrix.ts';
import { halveRows } from './halve-rows.ts';
import { usesIntegers, wordOrderOf } from './integer-products.ts';
import type { Matrix, MatrixWindow } from './matrix.ts';
import { matvecKernel, matvecRows } from './matvec.ts';
import { matvecInt8Kernel } from './matvec-int8.ts';
import { matmulKernel } from './matmul-tiles.ts';
import { appliedNorm, NormedRows, rowsOf, type AppliedNorm, type Rows } from './normed.ts';
import { orderColumns } from './order-columns.ts';
import { quantizeNormed } from './quantize-normed.ts';
import { quantizeRows, type WordOrder } from './quantize-rows.ts';
import { smoothRows } from './smooth-rows.ts';
import { TILE_ROWS, type ProductKernel } from './tiling.ts';

/** Windows of a matrix, and the form of the rows that their kernels multiply. */
export interface Factors {
  windows: readonly MatrixWindow[];
  x: Tensor;
  norm?: AppliedNorm | null;
  /** `stripRows`: upper bound of the rows of a strip. */
  kernelOf(window: MatrixWindow, stripRows: number): ProductKernel;
}

/**
 * Windows by the form in which they take the rows: formats differ in whether their codes are multiplied as integers, and in the order of their
 * k's. `isMatvec`: whether kernels of few rows multiply them.
 */
export function factorsIn(inputs: Rows, weight: Matrix, isMatvec: boolean): Factors[] {
  const isInteger = ({ format }: MatrixWindow): boolean => usesIntegers(inputs, format, isMatvec);
  const floats = weight.windows.filter((window) => !isInteger(window));
  const integers = weight.windows.filter(isInteger);
  const orders = new Set(integers.map(({ format }) => wordOrderOf(format)));
  return [
    ...(floats.length === 0 ? [] : [floatFactors(inputs, weight, { windows: floats, isMatvec })]),
    ...[...orders].map((order) =>
      integerFactors(
        inputs,
        weight,
        { windows: integers.filter(({ format }) => wordOrderOf(format) === order), isMatvec },
        order,
      ),
    ),
  ];
}

/** Windows of a matrix that take the rows in one form, and whether kernels of few rows multiply them. */
interface WindowGroup {
  windows: readonly MatrixWindow[];
  isMatvec: boolean;
}

function floatFactors(inputs: Rows, weight: Matrix, { windows, isMatvec }: WindowGroup): Factors {
  const tape = tapeOf(inputs);
  const norm = appliedNorm(inputs, weight);
  const ordered = norm?.x ?? orderedRows(inputs, weight);
  const isMatrix = !isMatvec && usesGemmMatrix(tape, ordered);
  const x = isMatrix ? halveRows(ordered) : ordered;
  const rows = x.rows(tape.capacity);
  const tile = Math.min(TILE_ROWS, tape.device.profile.tileRows.usual);
  const few = paddedRows(rows) <= tile ? { tileRows: paddedRows(rows) } : {};
  const kernelOf = (window: MatrixWindow, stripRows: number): ProductKernel =>
    isMatvec
      ? matvecKernel(weight, window.format, matvecRows(tape, rows), norm)
      : isMatrix
        ? gemmMatrixKernel(tape, weight, { rows, stripRows, window })
        : usesGemm(x)
          ? gemmKernel(tape, weight, { rows, stripRows, window })
          : matmulKernel(tape, weight, window.format, { rows, stripRows, ...few });
  return { windows, x, norm, kernelOf };
}

function integerFactors(
  inputs: Rows,
  weight: Matrix,
  { windows, isMatvec }: WindowGroup,
  order: WordOrder,
): Factors {
  const tape = tapeOf(inputs);
  const isNormed = inputs instanceof NormedRows && weight.order === null && weight.smooth === null;
  const x = isNormed ? quantizeNormed(inputs, order) : quantizeRows(orderedRows(inputs, weight), order);
  const rows = x.rows(tape.capacity);
  const kernelOf = (window: MatrixWindow, stripRows: number): ProductKernel =>
    isMatvec
      ? matvecInt8Kernel(weight, matvecRows(tape, rows), stripRows)
      : gemmInt8Kernel(tape, weight, { rows, stripRows, window });
  return { windows, x, kernelOf };
}

/** Rows whose k's stand in the order of the weights, and are smoothed. */
function orderedRows(inputs: Rows, { order, smooth }: Matrix): Tensor {
  const rows = rowsOf(inputs);
  const smoothed = smooth ? smoothRows(rows, smooth) : rows;
  return order ? orderColumns(smoothed, order) : smoothed;
}
