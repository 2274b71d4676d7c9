// Adds rows that another model computed to the states of the tokens that stand for them.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

const WORKGROUP = 32;

/**
 * x[row] += inputs[the row's input embedding], in place, for the rows that have one; x [rows, columns], `inputs` as wide with padding. `isEach`: every
 * row has the one of its own number.
 */
export function addInputs(
  x: Tensor,
  batch: Pick<TextBatch, 'rows'>,
  inputs: Region,
  { isEach = false } = {},
): Tensor {
  const quads = x.stride / 4;
  tapeOf(x).dispatch('add-inputs.wgsl', {
    params: { EACH: isEach },
    args: { quads },
    bind: { rows: batch.rows, inputs, x },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), x.rows(sizes)],
  });
  return x;
}
