// y = x · Wᵀ with the following operations fused into the store: bias, activation, residual, gated pairs. One dispatch per window
// of the matrix and strip of the rows.

import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Operand } from '../gpu/tape.ts';
import { paddedColumns, type Sizes, type Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { isFasterAsPrompt } from './decode-products.ts';
import { mostRows } from './dispatch-work.ts';
import { gated, gateParams, type GateFactors } from './gated.ts';
import { isAdapted, loraExpand } from './lora-expand.ts';
import { weightOperands, type Matrix, type MatrixWindow } from './matrix.ts';
import { isDecode } from './matvec.ts';
import { rowsOf, type Rows } from './normed.ts';
import { factorsIn } from './product-factors.ts';
import { stripsOf } from './row-strips.ts';
import { scaledAdd } from './scaled-add.ts';
import { sumParts } from './sum-parts.ts';
import { TILE_ROWS, type ProductKernel } from './tiling.ts';

export type { Activation } from './activation.ts';

/** How shaders/lib/store.* finishes a sum. */
export interface Store {
  params: {
    STORE: 'set' | 'add' | 'add-activated' | 'gated-pair' | 'clamped-pair';
    ACTIVATION?: Activation | 'none';
    GATE_FIRST?: boolean;
    GATE_FACTOR?: number;
    PRODUCT_FACTOR?: number;
    ALPHA?: number;
    LIMIT?: number;
  };
  /** Outputs of the product per column of y. */
  outputs?: number;
}

/** y = activation(x · Wᵀ + bias); x [rows, k] → [rows, columns]. Devices that divide the k's add what each computes. */
export function linear(x: Rows, weight: Matrix, options: { activation?: Activation } = {}): Tensor {
  if (!weight.isPart) return linearAlone(x, weight, options);
  if ((options.activation ?? 'none') !== 'none')
    throw new Error(
      `${weight.name}: devices that divide its inputs add their products without an activation`,
    );
  return sumParts(linearAlone(x, weight));
}

/** linear without other devices. */
function linearAlone(x: Rows, weight: Matrix, options: { activation?: Activation } = {}): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), weight.columns]);
  const { activation = 'none' } = options;
  if (hasFactors(x, weight)) {
    factorsOf(rowsOf(x), weight, y, { add: false });
    const store = activation === 'none' ? 'add' : 'add-activated';
    record(x, weight, y, { params: { STORE: store, ...(store !== 'add' && { ACTIVATION: activation }) } });
    return y;
  }
  record(x, weight, y, { params: { STORE: 'set', ACTIVATION: activation } });
  return y;
}

/** residual += x · Wᵀ + bias, in place; x [rows, k], residual [rows, columns] → residual. Devices that divide the k's add what each computes. */
export function linearAdd(x: Rows, weight: Matrix, residual: Tensor): Tensor {
  if (weight.isPart) return scaledAdd(residual, 1, sumParts(linearAlone(x, weight)));
  if (hasFactors(x, weight)) factorsOf(rowsOf(x), weight, residual, { add: true });
  return linearAddAlone(x, weight, residual);
}

/** Whether factors add to the product: those beside the weights, or those of the rows' own adapters. */
function hasFactors(x: Rows, weight: Matrix): boolean {
  return weight.lowRank !== null || weight.beside !== null || isAdapted(x, weight);
}

/** Writes the part of the product that factors make up to y, or adds it, in place → y */
function factorsOf(x: Tensor, weight: Matrix, y: Tensor, { add }: { add: boolean }): Tensor {
  let adds = add;
  for (const factors of [weight.lowRank, weight.beside]) {
    if (factors === null) continue;
    const store = adds ? ({ STORE: 'add' } as const) : ({ STORE: 'set', ACTIVATION: 'none' } as const);
    record(linear(x, factors.down), factors.up, y, { params: store });
    adds = true;
  }
  return isAdapted(x, weight) ? loraExpand(x, weight, y, { add: adds }) : y;
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

/** linearSwiglu with factors on gates, before silu, and on products. */
export function linearScaledSwiglu(x: Rows, gateUp: Matrix, factors: GateFactors): Tensor {
  return gatedPair(x, gateUp, 'silu', true, factors);
}

/** gelu(x · gateᵀ) · (x · upᵀ) with gelu by tanh, gate and up interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearTanhGeglu(x: Rows, gateUp: Matrix): Tensor {
  return gatedPair(x, gateUp, 'gelu-tanh', true);
}

/** gelu(x · gateᵀ) · (x · upᵀ), gate and up interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearGatedGelu(x: Rows, gateUp: Matrix): Tensor {
  return gatedPair(x, gateUp, 'gelu', true);
}

/** (x · valueᵀ) · gelu(x · gateᵀ), value and gate interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearGeglu(x: Tensor, valueGate: Matrix): Tensor {
  return gatedPair(x, valueGate, 'gelu', false);
}

/** (x · valueᵀ) · silu(x · gateᵀ), value and gate interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearValueSilu(x: Rows, valueGate: Matrix): Tensor {
  return gatedPair(x, valueGate, 'silu', false);
}

function gatedPair(
  x: Rows,
  weight: Matrix,
  activation: Activation,
  gateFirst: boolean,
  factors: GateFactors | null = null,
): Tensor {
  if (hasFactors(x, weight)) return gated(linear(x, weight), activation, gateFirst, factors);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), weight.columns / 2]);
  record(x, weight, y, {
    params: { STORE: 'gated-pair', ACTIVATION: activation, GATE_FIRST: gateFirst, ...gateParams(factors) },
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
      ...weightOperands(tapeOf(x).device, window),
      ...(weight.bias ? { bias: weight.bias } : {}),
    },
    groups: (sizes) => workgroups(task.groups, task.tiles(sizes)),
  });
}
