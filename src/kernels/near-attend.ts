// Attention of each row of a sound to the rows near it, with learned terms for their distances and a cap on the scores.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** Limits of near-attend.wgsl's arrays. */
export const MOST_NEAR = 64;
export const MOST_NEAR_DIMS = 256;

export interface NearAttention {
  heads: number;
  dims: number;
  /** Rows before and behind its own that a row sees. */
  before: number;
  after: number;
  /** Bound of the scores. */
  cap: number;
  /** Factors on queries and keys. */
  gains: { q: number; k: number };
}

/**
 * softmax(cap · tanh(q' · (gain · k + place) / cap)) · v with q' = gain · softplus(spread) · q; q, k and v [items, rows, heads · dims], places
 * [before + 1 + after, heads · dims], the first for the farthest row before, spread [dims] → [items, rows, heads · dims]
 */
export function nearAttend(
  [q, k, v]: readonly [q: Tensor, k: Tensor, v: Tensor],
  places: Tensor,
  spread: Tensor,
  { heads, dims, before, after, cap, gains }: NearAttention,
): Tensor {
  const tape = tapeOf(q);
  const near = before + 1 + after;
  const [items, rows] = q.shape as [number, number];
  const isAlike = [q, k, v, places].every(({ columns }) => columns === heads * dims);
  if (!isAlike || places.rows({}) !== near || near > MOST_NEAR || dims > MOST_NEAR_DIMS)
    throw new Error(
      `nearAttend: [${q.shape.join(', ')}] with ${places.rows({})} places for ${near} rows and heads of ${dims}`,
    );
  const y = tape.tensor(q.shape);
  tape.dispatch('near-attend.wgsl', {
    args: {
      heads,
      dims,
      rows,
      before,
      near,
      q_stride: q.stride,
      k_stride: k.stride,
      v_stride: v.stride,
      place_stride: places.stride,
      y_stride: y.stride,
      cap,
      q_gain: gains.q,
      k_gain: gains.k,
    },
    bind: { q, k, v, places, spread, y },
    groups: () => [heads, items * rows],
  });
  return y;
}
