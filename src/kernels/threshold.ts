// Dynamic thresholding (arXiv 2205.11487): clamps a tensor to a quantile of its magnitudes and divides by that.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';
import { stripsOf } from './row-strips.ts';

/** Bits that one pass of the selection finds, of 32. */
const BITS = 8;
/** Words of the state before the bins of threshold-pick.wgsl, and with the bins. */
const STATE = 4 + 2 ** BITS;
/** Limit on the workgroups of a counting pass: each clears and merges its own bins. */
const MOST_COUNTERS = 256;

export interface Threshold {
  /** The quantile, 0 to 1, as torch.quantile finds it: linear between two ranks, the rank in f32. */
  ratio: number;
  /** Upper bound of s; the lower one is 1. */
  most: number;
}

/** x → clamp(x, −s, s) / s, where s is the quantile of |x| over all its values, clamped to 1 … `most`. */
export function threshold(x: Tensor, { ratio, most }: Threshold): Tensor {
  const tape = tapeOf(x);
  const values = x.rows(tape.capacity) * x.columns;
  const place = Math.fround(Math.fround(ratio) * Math.fround(values - 1));
  const rank = Math.min(Math.floor(place), values - 1);
  const found = tape.tensor([STATE], 'u32');
  const y = tape.tensor(x.shape);
  const strips = stripsOf(tape, [x, y], Infinity).map((strip) => ({
    strip,
    quads: (strip.count(tape.capacity) * x.stride) / 4,
  }));
  const pick = (first: boolean): void =>
    tape.dispatch('threshold-pick.wgsl', {
      params: { FIRST: first },
      args: { rank },
      bind: { found },
      groups: () => [1],
    });
  const count = (shift: number, next: boolean): void => {
    for (const { strip, quads } of strips) {
      tape.dispatch('threshold-count.wgsl', {
        params: { NEXT: next },
        args: { quads, stride: x.stride, columns: x.columns, shift },
        bind: { x: strip.of(x), found },
        groups: () => [Math.min(...walkers(tape, quads), MOST_COUNTERS)],
      });
    }
  };
  pick(true);
  for (let shift = 32 - BITS; shift >= 0; shift -= BITS) {
    count(shift, false);
    pick(false);
  }
  count(0, true);
  for (const { strip, quads } of strips) {
    tape.dispatch('threshold.wgsl', {
      args: { quads, fraction: place - rank, most },
      bind: { x: strip.of(x), found, y: strip.of(y) },
      groups: () => walkers(tape, quads),
    });
  }
  return y;
}
