// Causal depthwise convolution over a few tokens of each sequence, for layers with a short convolution and the inputs of state
// space models. The tokens that a sequence needs from earlier steps are kept in its slot.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import type { StateSlots, TextBatch } from './batch.ts';

const WORKGROUP = 32;

/** f32 values of one sequence's state. */
export function shortConvState(taps: number, columns: number): number {
  return (taps - 1) * paddedColumns(columns);
}

/**
 * x [rows, columns], weight [columns, taps], whose last tap applies to the row itself → [rows, columns]; then stores the last
 * taps - 1 rows in the slots.
 */
export function shortConv(x: Tensor, weight: Tensor, batch: TextBatch, { values }: StateSlots): Tensor {
  const tape = tapeOf(x);
  const [columns] = weight.shape;
  const taps = weight.columns;
  if (taps < 2 || columns !== x.columns)
    throw new Error(`shortConv: weights of [${weight.shape.join(', ')}] for ${x.columns} columns`);
  const y = tape.tensor(x.shape);
  const args = { quads: x.stride / 4, taps, tap_quads: weight.stride / 4 };
  const across = Math.ceil(args.quads / WORKGROUP);
  const { rows, sequences } = batch;
  tape.dispatch('short-conv.wgsl', {
    args,
    bind: { x, weight, rows, y, sequences, states: values },
    groups: (sizes) => [across, x.rows(sizes)],
  });
  tape.dispatch('short-conv-state.wgsl', {
    args,
    bind: { x, sequences, states: values },
    groups: (sizes) => [across, sizes['sequences'] ?? 0],
  });
  return y;
}
