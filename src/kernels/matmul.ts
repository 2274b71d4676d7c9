// y = x · Wᵀ with what follows folded into the store: bias, the residual, SwiGLU. One dispatch a window of the matrix.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import { paddedColumns, paddedRows, tapeOf, type Tensor } from '../gpu/tensor.ts';
import { STEP, weightOperands, type Matrix } from './matrix.ts';

type Store = 'none' | 'add' | 'swiglu';

/** Rows of a tile; tensors are given rows behind their last one up to the end of its tile. */
const TILE_ROWS = 16;

/** y = x · Wᵀ + bias; x [rows, k] → [rows, columns] */
export function linear(x: Tensor, weight: Matrix): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), weight.columns]);
  record(x, weight, y, 'none');
  return y;
}

/** residual += x · Wᵀ + bias, in place; x [rows, k], residual [rows, columns] → residual */
export function linearAdd(x: Tensor, weight: Matrix, residual: Tensor): Tensor {
  record(x, weight, residual, 'add');
  return residual;
}

/** silu(x · gateᵀ) · (x · upᵀ), gate and up interleaved in one matrix; x [rows, k] → [rows, columns / 2] */
export function linearSwiglu(x: Tensor, gateUp: Matrix): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), gateUp.columns / 2]);
  record(x, gateUp, y, 'swiglu');
  return y;
}

function record(x: Tensor, weight: Matrix, y: Tensor, store: Store): void {
  if (x.columns !== weight.k) throw new Error(`matmul: x has ${x.columns} columns, the weight ${weight.k}`);
  if (y.stride % (store === 'swiglu' ? 2 : 4) !== 0)
    throw new Error(`matmul: rows of y are ${y.stride} apart`);
  const tape = tapeOf(x);
  const { shader, params, rows } = variant(tape, x.rows(tape.capacity), weight);
  const columnLanes = tape.device.capabilities.columnLanes;
  for (const window of weight.windows) {
    tape.dispatch(shader, {
      params: {
        ...params,
        STORE: weight.bias ? BIASED[store] : store,
        W: weight.format,
        COLUMN_LANES: columnLanes,
      },
      args: {
        x_quads: x.stride / 4,
        y_quads: store === 'swiglu' ? paddedColumns(y.columns) / 2 : y.stride / 4,
        blocks: weight.blocks,
        first_group: window.firstGroup,
        groups: window.groups,
        ...(shader === 'matmul-few.wgsl' ? { steps: (4 * Number(params['RUN'])) / STEP[weight.format] } : {}),
      },
      bind: { x, y, ...weightOperands(window), ...(weight.bias ? { bias: weight.bias } : {}) },
      groups: (sizes) => [Math.ceil((window.groups * 8) / columnLanes), Math.ceil(x.rows(sizes) / rows)],
    });
  }
}

const BIASED: Record<Store, string> = { none: 'bias', add: 'add-bias', swiglu: 'swiglu-bias' };

interface Variant {
  shader: string;
  params: Params;
  /** Rows a workgroup takes. */
  rows: number;
}

/** Every variant sums alike, so the choice may follow the tape's capacity without changing a token. */
function variant(tape: Tape, capacity: number, weight: Matrix): Variant {
  const { lanes } = tape;
  const splits = tape.plain ? 1 : splitsFor(tape, weight);
  const rows = Math.min(paddedRows(capacity), TILE_ROWS);
  if (lanes > 1 && rows < TILE_ROWS) {
    return {
      shader: 'matmul-few.wgsl',
      params: { ROWS: rows, RUN: Math.min(lanes, 8), SPLITS: splits },
      rows,
    };
  }
  return { shader: 'matmul.wgsl', params: { LANES: lanes, TILES: rows / lanes, SPLITS: splits }, rows };
}

/**
 * Parts that K is shared out among, from (N, K) alone: a GPU wants some ten thousand lanes busy, and a column group
 * has 32. A workgroup holds all parts. Software adapters have no lanes to spare.
 */
function splitsFor(tape: Tape, weight: Matrix): number {
  if (tape.device.summary.software) return 1;
  const lanes = weight.columns / 4;
  const { capabilities, gpu } = tape.device;
  const most = Math.min(8, gpu.limits.maxComputeInvocationsPerWorkgroup / capabilities.columnLanes);
  let splits = 1;
  while (2 * splits <= most && lanes * splits < 8192 && weight.blocks >= 4 * splits) splits *= 2;
  return splits;
}
