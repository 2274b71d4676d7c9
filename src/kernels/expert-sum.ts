// Sum of a row's expert outputs, weighted by the router's shares.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { ExpertPlan } from './expert-plan.ts';

const WORKGROUP = 32;

/** residual += Σ share · x, in place; x [tile rows, columns], shares [rows, chosen], residual [rows, columns] → residual */
export function expertSum(x: Tensor, shares: Tensor, { places }: ExpertPlan, residual: Tensor): Tensor {
  const quads = residual.stride / 4;
  tapeOf(x).dispatch('expert-sum.wgsl', {
    args: { quads, chosen: shares.columns, stride: shares.stride },
    bind: { x, shares, places, y: residual },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), residual.rows(sizes)],
  });
  return residual;
}
