// Matmuls in which each tile of rows uses an expert's matrix: the kernels of matmul.ts, gemm.ts, matvec.ts and of integers, with tiles and rows from a
// plan.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Sizes, Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import type { ExpertPlan } from './expert-plan.ts';
import type { WeightFormat } from './formats.ts';
import { expertGemmKernel } from './gemm.ts';
import { expertGemmInt8Kernel } from './gemm-int8.ts';
import { multipliesIntegers, wordOrderOf } from './integer-products.ts';
import { dispatchWindow, type Store } from './matmul.ts';
import { matmulKernel } from './matmul-tiles.ts';
import { expertGroups, type Matrix } from './matrix.ts';
import { matvecKernel } from './matvec.ts';
import { matvecInt8Kernel } from './matvec-int8.ts';
import { quantizeRows } from './quantize-rows.ts';
import type { ProductKernel } from './tiling.ts';

/** silu(x · gateᵀ) · (x · upᵀ), gate and up interleaved; x [rows, k] → [tile rows, columns / 2] */
export function expertSwiglu(x: Tensor, plan: ExpertPlan, gateUps: Matrix): Tensor {
  const params = { STORE: 'gated-pair', ACTIVATION: 'silu', GATE_FIRST: true } as const;
  return record(x, true, plan, gateUps, { params, outputs: 2 });
}

/** expertSwiglu with the tanh approximation of GELU instead of SiLU. */
export function expertTanhGeglu(x: Tensor, plan: ExpertPlan, gateUps: Matrix): Tensor {
  const params = { STORE: 'gated-pair', ACTIVATION: 'gelu-tanh', GATE_FIRST: true } as const;
  return record(x, true, plan, gateUps, { params, outputs: 2 });
}

/** Factor in the sigmoid, and bound of gate and up. */
export interface Clamped {
  alpha: number;
  limit: number;
}

/**
 * (up + 1) · gate · σ(alpha · gate) of x · gateᵀ + bias, at most `limit`, and x · upᵀ + bias, within ± `limit`; gate and up interleaved;
 * x [rows, k] → [tile rows, columns / 2]
 */
export function expertClampedSwiglu(
  x: Tensor,
  plan: ExpertPlan,
  gateUps: Matrix,
  { alpha: ALPHA, limit: LIMIT }: Clamped,
): Tensor {
  return record(x, true, plan, gateUps, { params: { STORE: 'clamped-pair', ALPHA, LIMIT }, outputs: 2 });
}

/** activation(x · Wᵀ + bias); x [rows, k] → [tile rows, columns] */
export function expertActivated(x: Tensor, plan: ExpertPlan, weights: Matrix, name: Activation): Tensor {
  return record(x, true, plan, weights, { params: { STORE: 'set', ACTIVATION: name } });
}

/** y = x · Wᵀ + bias; x [tile rows, k] → [tile rows, columns] */
export function expertLinear(x: Tensor, plan: ExpertPlan, weights: Matrix): Tensor {
  return record(x, false, plan, weights, { params: { STORE: 'set', ACTIVATION: 'none' } });
}

function record(x: Tensor, gather: boolean, plan: ExpertPlan, weights: Matrix, store: Store): Tensor {
  if (x.columns !== weights.k)
    throw new Error(`experts: x has ${x.columns} columns, the weights ${weights.k}`);
  const tape = tapeOf(x);
  const y = tape.tensor([plan.tiles * plan.tileRows, weights.columns / (store.outputs ?? 1)]);
  const groups = expertGroups(weights);
  // Gathered rows are those of the step, others those of the plan's tiles.
  const count = gather ? undefined : (sizes: Sizes): number => plan.tilesOf(sizes) * plan.tileRows;
  for (const window of weights.windows) {
    const { format } = window;
    const isInteger = plan.kernel !== 'matmul' && multipliesIntegers(tape, format);
    const factor = isInteger ? quantizeRows(x, wordOrderOf(format), count) : x;
    const kernel = isInteger ? integerKernelOf(tape, plan, weights) : kernelOf(tape, plan, weights, format);
    dispatchWindow(weights, window, kernel, store, {
      x: factor,
      y,
      params: { MATRIX: 'experts', GATHER: gather },
      groups,
      expertGroups: groups,
      bind: { x: factor, y, plan: plan.plan },
      tiles: plan.tilesOf,
    });
  }
  return y;
}

function integerKernelOf(
  tape: Tape,
  { kernel, tileRows, tiles }: ExpertPlan,
  weights: Matrix,
): ProductKernel {
  const rows = tiles * tileRows;
  return kernel === 'matvec'
    ? matvecInt8Kernel(weights, tileRows, rows)
    : expertGemmInt8Kernel(tape, rows, tileRows);
}

function kernelOf(
  tape: Tape,
  { kernel, tileRows, tiles }: ExpertPlan,
  weights: Matrix,
  format: WeightFormat,
): ProductKernel {
  const rows = tiles * tileRows;
  switch (kernel) {
    case 'matvec':
      return matvecKernel(weights, format, tileRows);
    case 'gemm':
      return expertGemmKernel(tape, rows, tileRows);
    case 'matmul':
      return matmulKernel(tape, weights, format, { rows, stripRows: rows, tileRows });
  }
}
