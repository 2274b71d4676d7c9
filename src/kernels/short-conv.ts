// Causal depthwise convolution over a few tokens of each sequence, as layers with a short convolution and the inputs of state space
// models have it. What a sequence needs of earlier steps is kept in its slot.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import type { StateSlots, TextBatch } from './batch.ts';

const WORKGROUP = 32;

/** f32 values of one sequence's state. */
export function shortConvState(taps: number, columns: number): number {
  return (taps - 1) * paddedColumns(columns);
}

/** x [rows, columns], weight [taps, columns], the last tap for the row itself → [rows, columns]; then the slots hold the last taps - 1 rows. */
export function shortConv(x: Tensor, weight: Tensor, batch: TextBatch, { values }: StateSlots): Tensor {
  const tape = tapeOf(x);
  const [taps] = weight.shape;
  if (typeof taps !== 'number' || taps < 2 || weight.columns !== x.columns)
    throw new Error(`shortConv: weights of [${weight.shape.join(', ')}] for ${x.columns} columns`);
  const y = tape.tensor(x.shape);
  const args = { quads: x.stride / 4, taps };
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
