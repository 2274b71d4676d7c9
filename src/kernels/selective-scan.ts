// The selective scan of Mamba-2: a state for each head that fades by a rate times the row's step, and takes in the row's columns under
// its B; the row's C reads it. The state of each sequence is kept in its slot, in f32. Rows are computed in their order, so that a
// result does not depend on the division into steps; GPUs keep a state in registers over all rows of a step, and compute whole chunks of
// prompts as products of matrices (selective-scan-chunks.ts).

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { StateSlots, TextBatch } from './batch.ts';
import { isChunked, scanChunks } from './selective-scan-chunks.ts';

/** Heads of a selective scan. Heads are a multiple of the groups, dims and state dims multiples of 4. */
export interface ScanHeads {
  heads: number;
  dims: number;
  /** Groups of heads that share B and C. */
  groups: number;
  stateDims: number;
}

export interface ScanSteps {
  /** [rows, at least first + heads]: steps before softplus. */
  raw: Tensor;
  /** Their first column. */
  first: number;
  /** Factor on them before their offset; left out: 1. */
  factor?: number;
  /** [heads]: added to steps. */
  offsets: Tensor;
  /** The least and the largest step. */
  limits: readonly [least: number, most: number];
  /** [heads]: rates of decay, or the logarithms of their negatives. */
  rates: Tensor;
  logarithms: boolean;
  /** [heads]: factors of x in the output. */
  skips: Tensor;
}

/** f32 values of one sequence's state. */
export function scanState({ heads, stateDims, dims }: ScanHeads): number {
  return heads * stateDims * dims;
}

/** A slot's part for the state. */
export interface ScanSlots {
  store: StateSlots;
  /** f32 values of a slot before it; a multiple of 4. */
  first: number;
  /** f32 values of a slot; a multiple of 4. */
  stride: number;
}

/** The largest f32, for steps without a limit. */
const LARGEST = 3.4028234e38;

/** x [rows, heads · dims + 2 · groups · stateDims]: columns, B, C → [rows, heads · dims]. Source: transformers' mamba2_selective_state_update. */
export function selectiveScan(
  x: Tensor,
  steps: ScanSteps,
  shape: ScanHeads,
  batch: TextBatch,
  slots: ScanSlots,
): Tensor {
  const tape = tapeOf(x);
  assertShape(x, steps, shape, slots);
  const { heads, dims, groups, stateDims } = shape;
  const { raw, first, factor = 1, offsets, rates, logarithms, skips, limits } = steps;
  const y = tape.tensor([...x.shape.slice(0, -1), heads * dims]);
  const stepArgs = {
    step_stride: raw.stride,
    step_first: first,
    step_factor: factor,
    least: limits[0],
    most: Math.min(limits[1], LARGEST),
    logarithms: Number(logarithms),
  };
  const slotArgs = { state_first: slots.first / 4, state_stride: slots.stride / 4 };
  const { store } = slots;
  const chunked = isChunked(tape, x, shape);
  const ofSteps = { steps: raw, rates, offsets };
  if (chunked) scanChunks(tape, { x, y }, shape, batch, { stepArgs, steps: ofSteps, skips, slotArgs, store });
  const { shader, params, quads } = kernelOf(tape, stateDims);
  const padding = (y.stride - y.columns) / 4;
  const { sequences } = batch;
  tape.dispatch(shader, {
    params,
    args: {
      ...{ heads, groups, value_quads: dims / 4, state_quads: stateDims / 4 },
      ...{ x_quads: x.stride / 4, y_quads: y.stride / 4 },
      ...slotArgs,
      ...stepArgs,
      chunked: Number(chunked),
    },
    bind: { x, ...ofSteps, sequences, states: store.values, skips, y },
    groups: (sizes) => [Math.ceil((dims / 4 + padding) / quads), heads, sizes['sequences'] ?? 0],
  });
  return y;
}

interface Kernel {
  shader: string;
  params: Params;
  /** Quads of columns in a workgroup. */
  quads: number;
}

/** Quads of columns of a workgroup, and of state dims that a lane holds at most: 32 values for each. */
const QUADS = 4;
const MOST_HELD = 2;
/** Least lanes that share the state dims of a column. */
const LEAST_PARTS = 8;
/** Lanes of a workgroup that keeps the state in its slot. */
const SLOT_QUADS = 8;

function kernelOf({ device }: Tape, stateDims: number): Kernel {
  if (device.profile.deltaState === 'slot')
    return { shader: 'selective-scan-slot.wgsl', params: {}, quads: SLOT_QUADS };
  const quads = stateDims / 4;
  const parts = Math.max(LEAST_PARTS, Math.ceil(quads / MOST_HELD));
  const held = Math.ceil(quads / parts);
  const params = { PARTS: parts, QUADS, HELD: held, WHOLE: parts * held === quads };
  return { shader: 'selective-scan.wgsl', params, quads: QUADS };
}

function assertShape(
  x: Tensor,
  { raw, first }: ScanSteps,
  shape: ScanHeads,
  { first: before, stride }: ScanSlots,
): void {
  const { heads, dims, groups, stateDims } = shape;
  const isWhole = heads % groups === 0 && dims % 4 === 0 && stateDims % 4 === 0;
  if (!isWhole || x.columns !== heads * dims + 2 * groups * stateDims || first + heads > raw.columns)
    throw new Error(
      `selectiveScan: ${heads} heads of ${dims} and ${groups} groups of ${stateDims} in ${x.columns} columns, steps from ${first} on of ${raw.columns}`,
    );
  if (before % 4 !== 0 || stride % 4 !== 0 || before + scanState(shape) > stride)
    throw new Error(`selectiveScan: states of ${scanState(shape)} from ${before} on in slots of ${stride}`);
}
