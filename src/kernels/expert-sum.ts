// Sum of a row's expert outputs, weighted by the router's shares.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { ExpertPlan } from './expert-plan.ts';

const WORKGROUP = 32;

/**
 * residual += Σ share · x, in place; x [tile rows, columns], shares [rows, chosen], residual [rows, columns] → residual; null: a tensor of the
 * sums alone. `weighed`: false for shares that the experts' inputs were multiplied by. `bias`: a vector of [columns] that is added to each sum.
 */
export function expertSum(
  x: Tensor,
  shares: Tensor,
  { places }: ExpertPlan,
  residual: Tensor | null,
  weighed = true,
  bias: Tensor | null = null,
): Tensor {
  const tape = tapeOf(x);
  const y = residual ?? tape.tensor([...shares.shape.slice(0, -1), x.columns]);
  const quads = y.stride / 4;
  tape.dispatch('expert-sum.wgsl', {
    params: { ADDS: residual !== null, SHARE: weighed ? 'each' : 'none', BIAS: bias ? 'add' : 'none' },
    args: { quads, chosen: shares.columns, stride: shares.stride },
    bind: { x, ...(weighed && { shares }), ...(bias && { bias }), places, y },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), y.rows(sizes)],
  });
  return y;
}
