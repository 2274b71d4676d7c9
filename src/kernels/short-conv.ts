// Causal depthwise convolution over a few tokens of each sequence, for layers with a short convolution and the inputs of state
// space models. The tokens that a sequence needs from earlier steps are kept in its slot.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import type { StateSlots, TextBatch } from './batch.ts';

const WORKGROUP = 32;

export interface ShortConvOptions {
  activation?: 'none' | 'silu';
  /** [columns], added before the activation; left out: none. */
  bias?: Tensor | null;
  /** f32 values of a slot, which begins with the state of the convolution; left out: that state alone. */
  slotValues?: number;
  /**
   * Order of x's columns: so many groups, `stride` columns apart, of which each has a run of the first columns of the result, of the
   * second and of the third. Left out: x begins with the columns of the result in their order.
   */
  grouped?: { groups: number; stride: number; runs: Three } | null;
  /** The first column of x that is convolved; a multiple of 4. Left out: 0. */
  first?: number;
  /** Factors on the columns of each run; left out: 1. */
  factors?: Three;
}

type Three = readonly [number, number, number];

/** f32 values of one sequence's state. */
export function shortConvState(taps: number, columns: number): number {
  return (taps - 1) * paddedColumns(columns);
}

/**
 * x [rows, at least columns], weight [columns, taps], whose last tap applies to the row itself → [rows, columns]; then stores the
 * last taps - 1 rows in the slots.
 */
export function shortConv(
  x: Tensor,
  weight: Tensor,
  batch: TextBatch,
  { values }: StateSlots,
  {
    activation = 'none',
    bias = null,
    slotValues,
    grouped = null,
    first = 0,
    factors = [1, 1, 1],
  }: ShortConvOptions = {},
): Tensor {
  const tape = tapeOf(x);
  const columns = weight.shape[0] as number;
  const taps = weight.columns;
  const { groups, stride, runs } = grouped ?? { groups: 1, stride: 0, runs: [columns, 0, 0] };
  if (
    taps < 2 ||
    first % 4 !== 0 ||
    first + columns > x.columns ||
    groups * runs.reduce((sum, run) => sum + run, 0) !== columns
  )
    throw new Error(`shortConv: weights of [${weight.shape.join(', ')}] for ${x.columns} columns`);
  const y = tape.tensor([...x.shape.slice(0, -1), columns]);
  const args = {
    columns,
    quads: y.stride / 4,
    taps,
    tap_quads: weight.stride / 4,
    x_quads: x.stride / 4,
    slot_quads: (slotValues ?? shortConvState(taps, columns)) / 4,
    groups,
    group_quads: stride / 4,
    first_run: Math.ceil(runs[0] / 4),
    second_run: runs[1] / 4,
    third_run: runs[2] / 4,
    first_quad: first / 4,
    first_factor: factors[0],
    second_factor: factors[1],
    third_factor: factors[2],
  };
  const across = Math.ceil(args.quads / WORKGROUP);
  const { rows, sequences } = batch;
  tape.dispatch('short-conv.wgsl', {
    params: { ACTIVATION: activation, BIAS: bias ? 'add' : 'none' },
    args,
    bind: { x, weight, rows, y, sequences, states: values, ...(bias ? { bias } : {}) },
    groups: (sizes) => [across, x.rows(sizes)],
  });
  tape.dispatch('short-conv-state.wgsl', {
    args,
    bind: { x, sequences, states: values },
    groups: (sizes) => [across, sizes['sequences'] ?? 0],
  });
  return y;
}
