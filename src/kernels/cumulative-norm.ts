// A norm over time: each row by the mean and the variance of all rows up to it.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { rowLanes } from './wide-row.ts';

interface CumulativeNorm {
  eps: number;
  /** The first row that counts, and the one behind the last; others become zeros. */
  first: number;
  end: number;
}

/** max((x − mean) / sqrt(variance + eps) · weight, 0); x [1, rows, places, channels], weight [channels] → x's shape */
export function cumulativeNorm(x: Tensor, weight: Tensor, { eps, first, end }: CumulativeNorm): Tensor {
  const [, rows, places] = x.shape as number[];
  const channels = x.columns;
  if (channels % 4 !== 0 || weight.columns !== channels)
    throw new Error(
      `cumulativeNorm: [${x.shape.join(', ')}] by ${weight.columns}, a multiple of 4 is wanted`,
    );
  const tape = tapeOf(x);
  const quads = (places! * x.stride) / 4;
  const shared = {
    params: rowLanes(tape, quads),
    args: {
      quads,
      place_quads: x.stride / 4,
      channel_quads: channels / 4,
      values: places! * channels,
      first,
      end,
      eps,
    },
    groups: (): [number] => [rows!],
  };
  const sumsOf = (sums: Tensor | null): Tensor => {
    const y = tape.tensor([1, rows!]);
    tape.dispatch('cumulative-sums.wgsl', {
      ...shared,
      params: { ...shared.params, SQUARES: sums !== null },
      bind: { x, sums: sums ?? x, y },
    });
    return y;
  };
  const sums = sumsOf(null);
  const squares = sumsOf(sums);
  const y = tape.tensor(x.shape);
  tape.dispatch('cumulative-norm.wgsl', { ...shared, bind: { x, sums, squares, weight, y } });
  return y;
}
