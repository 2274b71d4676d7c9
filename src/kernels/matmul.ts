// y = x · Wᵀ with the following operations fused into the store: bias, activation, residual, gated pairs. One dispatch per window
// of the matrix and strip of the rows.

import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Operand, type Tape } from '../gpu/tape.ts';
import { paddedColumns, paddedRows, type Sizes, type Tensor } from '../gpu/tensor.ts';
import { activation as activate, type Activation } from './activation.ts';
import { isFasterAsPrompt } from './decode-products.ts';
import { mostRows } from './dispatch-work.ts';
import { gated } from './gated.ts';
import type { WeightFormat } from './formats.ts';
import { gemmKernel, usesGemm } from './gemm.ts';
import { gemmInt8Kernel } from './gemm-int8.ts';
import { gemmMatrixKernel, usesGemmMatrix } from './gemm-matrix.ts';
import { halveRows } from './halve-rows.ts';
import { usesIntegers, wordOrderOf } from './integer-products.ts';
import { isAdapted, loraExpand } from './lora-expand.ts';
import { weightOperands, type Matrix, type MatrixWindow } from './matrix.ts';
import { isDecode, matvecKernel, matvecRows } from './matvec.ts';
import { matvecInt8Kernel } from './matvec-int8.ts';
import { appliedNorm, NormedRows, rowsOf, type AppliedNorm, type Rows } from './normed.ts';
import { orderColumns } from './order-columns.ts';
import { quantizeNormed } from './quantize-normed.ts';
import { quantizeRows, type WordOrder } from './quantize-rows.ts';
import { stripsOf } from './row-strips.ts';
import { splitsOf, TILE_ROWS, tilingOf, type ProductKernel } from './tiling.ts';

export type { Activation } from './activation.ts';

/** How shaders/lib/store.* finishes a sum. */
export interface Store {
  params: {
    STORE: 'set' | 'add' | 'gated-pair' | 'clamped-pair';
    ACTIVATION?: Activation | 'none';
    GATE_FIRST?: boolean;
    ALPHA?: number;
    LIMIT?: number;
  };
  /** Outputs of the product per column of y. */
  outputs?: number;
}

/** y = activation(x · Wᵀ + bias); x [rows, k] → [rows, columns] */
export function linear(x: Rows, weight: Matrix, options: { activation?: Activation } = {}): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), weight.columns]);
  const { activation = 'none' } = options;
  if (hasFactors(x, weight)) {
    const sum = linearAddAlone(x, weight, factorsOf(rowsOf(x), weight, y, { add: false }));
    return activation === 'none' ? sum : activate(sum, activation);
  }
  record(x, weight, y, { params: { STORE: 'set', ACTIVATION: activation } });
  return y;
}

/** residual += x · Wᵀ + bias, in place; x [rows, k], residual [rows, columns] → residual */
export function linearAdd(x: Rows, weight: Matrix, residual: Tensor): Tensor {
  if (hasFactors(x, weight)) factorsOf(rowsOf(x), weight, residual, { add: true });
  return linearAddAlone(x, weight, residual);
}

/** Whether factors add to the product: those beside the weights, or those of the rows' own adapters. */
function hasFactors(x: Rows, weight: Matrix): boolean {
  return weight.beside !== null || isAdapted(x, weight);
}

/** Writes the part of the product that factors make up to y, or adds it, in place → y */
function factorsOf(x: Tensor, weight: Matrix, y: Tensor, { add }: { add: boolean }): Tensor {
  const { beside } = weight;
  if (beside === null) return loraExpand(x, weight, y, { add });
  const store = add ? ({ STORE: 'add' } as const) : ({ STORE: 'set', ACTIVATION: 'none' } as const);
  record(linear(x, beside.down), beside.up, y, { params: store });
  return isAdapted(x, weight) ? loraExpand(x, weight, y, { add: true }) : y;
}

/** linearAdd without adapters. */
function linearAddAlone(x: Rows, weight: Matrix, residual: Tensor): Tensor {
  record(x, weight, residual, { params: { STORE: 'add' } });
  return residual;
}

/** silu(x · gateᵀ) · (x · upᵀ), gate and up interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearSwiglu(x: Rows, gateUp: Matrix): Tensor {
  return gatedPair(x, gateUp, 'silu', true);
}

/** gelu(x · gateᵀ) · (x · upᵀ) with gelu by tanh, gate and up interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearTanhGeglu(x: Rows, gateUp: Matrix): Tensor {
  return gatedPair(x, gateUp, 'gelu-tanh', true);
}

/** (x · valueᵀ) · gelu(x · gateᵀ), value and gate interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearGeglu(x: Tensor, valueGate: Matrix): Tensor {
  return gatedPair(x, valueGate, 'gelu', false);
}

function gatedPair(x: Rows, weight: Matrix, activation: Activation, gateFirst: boolean): Tensor {
  if (hasFactors(x, weight)) return gated(linear(x, weight), activation, gateFirst);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), weight.columns / 2]);
  record(x, weight, y, {
    params: { STORE: 'gated-pair', ACTIVATION: activation, GATE_FIRST: gateFirst },
    outputs: 2,
  });
  return y;
}

function record(inputs: Rows, weight: Matrix, y: Tensor, store: Store): void {
  if (inputs.columns !== weight.k)
    throw new Error(`matmul: x has ${inputs.columns} columns, the weight ${weight.k}`);
  const outputs = store.outputs ?? 1;
  if (y.columns * outputs !== weight.columns)
    throw new Error(`matmul: y has ${y.columns} columns, the weight gives ${weight.columns / outputs}`);
  const tape = tapeOf(inputs);
  const isMatvec =
    isDecode(inputs) && !(tape.promptProducts && isFasterAsPrompt(tape, weight, y.rows(tape.capacity)));
  const rows = isMatvec ? inputs : rowsOf(inputs);
  for (const { windows, x, norm, kernelOf } of factorsIn(rows, weight, isMatvec)) {
    for (const strip of stripsOf(tape, [x, y], TILE_ROWS, mostRows(tape, weight.columns * weight.k))) {
      for (const window of windows) {
        const kernel = kernelOf(window, strip.rows);
        dispatchWindow(weight, window, kernel, store, {
          x,
          y,
          params: { MATRIX: 'one' },
          groups: window.groups,
          bind: { x: strip.of(x), y: strip.of(y), ...norm?.operands(strip) },
          tiles: (sizes) => Math.ceil(strip.count(sizes) / kernel.rows),
        });
      }
    }
  }
}

/** Windows of a matrix, and the form of the rows that their kernels multiply. */
interface Factors {
  windows: readonly MatrixWindow[];
  x: Tensor;
  norm?: AppliedNorm | null;
  /** `stripRows`: upper bound of the rows of a strip. */
  kernelOf(window: MatrixWindow, stripRows: number): ProductKernel;
}

/** Windows by the form in which they take the rows: formats differ in whether their codes are multiplied as integers, and in the order of their k's. */
function factorsIn(inputs: Rows, weight: Matrix, isMatvec: boolean): Factors[] {
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
interface Taken {
  windows: readonly MatrixWindow[];
  isMatvec: boolean;
}

function floatFactors(inputs: Rows, weight: Matrix, { windows, isMatvec }: Taken): Factors {
  const tape = tapeOf(inputs);
  const norm = appliedNorm(inputs, weight);
  const ordered = norm?.x ?? orderedRows(inputs, weight);
  const isMatrix = !isMatvec && usesGemmMatrix(tape, ordered);
  const x = isMatrix ? halveRows(ordered) : ordered;
  const rows = x.rows(tape.capacity);
  const few = paddedRows(rows) <= TILE_ROWS ? { tileRows: paddedRows(rows) } : {};
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
  { windows, isMatvec }: Taken,
  order: WordOrder,
): Factors {
  const tape = tapeOf(inputs);
  const isNormed = inputs instanceof NormedRows && weight.order === null;
  const x = isNormed ? quantizeNormed(inputs, order) : quantizeRows(orderedRows(inputs, weight), order);
  const rows = x.rows(tape.capacity);
  const kernelOf = (window: MatrixWindow, stripRows: number): ProductKernel =>
    isMatvec
      ? matvecInt8Kernel(weight, matvecRows(tape, rows), stripRows)
      : gemmInt8Kernel(tape, weight, { rows, stripRows, window });
  return { windows, x, kernelOf };
}

/** Rows whose k's stand in the order of the weights. */
function orderedRows(inputs: Rows, { order }: Matrix): Tensor {
  const rows = rowsOf(inputs);
  return order ? orderColumns(rows, order) : rows;
}

/** Operands and extent of one dispatch, in addition to its window and its store. */
export interface Task {
  x: Tensor;
  y: Tensor;
  params: Params;
  /** Groups of columns to compute; if `expertGroups` is set, groups of each tile's matrix. */
  groups: number;
  expertGroups?: number;
  bind: Record<string, Operand>;
  tiles: (sizes: Sizes) => number;
}

/** Multiplies tiles of rows by one window of a matrix. */
export function dispatchWindow(
  weight: Matrix,
  window: MatrixWindow,
  { shader, tuned, params, args, workgroups }: ProductKernel,
  store: Store,
  task: Task,
): void {
  const { x, y } = task;
  tapeOf(x).dispatch(shader, {
    ...(tuned === undefined ? {} : { tuned }),
    params: {
      ...params,
      ...store.params,
      ...task.params,
      BIAS: weight.bias ? 'add' : 'none',
      W: window.format.name,
    },
    args: {
      x_quads: x.stride / 4,
      y_quads: store.outputs === 2 ? paddedColumns(y.columns) / 2 : y.stride / 4,
      blocks: weight.blocks,
      first_group: window.firstGroup,
      groups: window.groups,
      expert_groups: task.expertGroups ?? 0,
      ...args,
    },
    bind: {
      ...task.bind,
      ...weightOperands(window),
      ...(weight.bias ? { bias: weight.bias } : {}),
    },
    groups: (sizes) => workgroups(task.groups, task.tiles(sizes)),
  });
}

/** Upper bounds of the rows of a product and of those in its strip, which may end within its last tile. */
interface ProductRows {
  rows: number;
  stripRows: number;
  /** Rows per tile, if they are fixed. */
  tileRows?: number;
}

/**
 * The kernel for rows of prompts, and for all rows where decode rows have none of their own. Both variants sum in the same order, so the choice
 * may depend on the number of rows without changing a token.
 */
export function matmulKernel(
  tape: Tape,
  weight: Matrix,
  format: WeightFormat,
  { rows, stripRows, tileRows }: ProductRows,
): ProductKernel {
  const SPLITS = splitsFor(tape, weight);
  const product = { kernel: 'matmul', weight, format, rows, splits: SPLITS };
  const { tuned, tiling } = tilingOf(tape, { ...product, ...(tileRows && { tileRows }) });
  const { columnLanes } = tiling;
  const shared = {
    tuned,
    rows: tiling.rows,
    workgroups: (groups: number, tiles: number) => [Math.ceil((groups * 8) / columnLanes), tiles] as const,
  };
  const params = { SPLITS, COLUMN_LANES: columnLanes };
  const { lanes } = tape;
  if (lanes > 1 && tiling.rows < TILE_ROWS) {
    const RUN = Math.min(lanes, 8);
    const few = { ...params, ROWS: tiling.rows, RUN };
    return {
      ...shared,
      shader: 'matmul-few.wgsl',
      params: few,
      args: { steps: (4 * RUN) / format.step, columns: weight.k, eps: 0 },
    };
  }
  const many = { ...params, LANES: lanes, TILES: tiling.rows / lanes };
  return { ...shared, shader: 'matmul.wgsl', params: many, args: { rows: stripRows } };
}

/** Number of parts that K is divided into; it depends on (N, K) only, so that a row's sum does not depend on the other rows. */
function splitsFor(tape: Tape, weight: Matrix): number {
  const wanted = tape.device.profile.splits?.matmulLanes ?? 0;
  return splitsOf(tape, { lanes: weight.columns / 4, wanted, blocks: weight.blocks });
}
