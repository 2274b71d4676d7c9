// Sorts rows by expert into the tiles that matmuls process.

import { tapeOf } from '../gpu/tape.ts';
import type { Sizes, Tensor } from '../gpu/tensor.ts';
import { usesGemm } from './gemm.ts';
import { isDecode } from './matvec.ts';
import { tilesFor, type Routes } from './route.ts';

/** Limits of expert-plan.wgsl's arrays. */
export const MOST_EXPERTS = 512;

export interface ExpertPlan {
  /** For each tile, its expert and its rows of x. */
  plan: Tensor;
  tileRows: number;
  tiles: number;
  /** The kernel that multiplies the plan's tiles. */
  kernel: 'matvec' | 'gemm' | 'matmul';
  /** Largest number of tiles in a step. */
  tilesOf(sizes: Sizes): number;
  /** [rows, chosen] of u32: the tile row of each choice of a row. */
  places: Tensor;
}

export function planExperts(routes: Routes): ExpertPlan {
  const { shares, chosen, experts, plan, tileRows, tiles } = routes;
  const tape = tapeOf(plan);
  if (experts > MOST_EXPERTS) throw new Error(`planExperts: ${experts} experts, the most is ${MOST_EXPERTS}`);
  const places = tape.tensor(shares.shape, 'u32');
  tape.dispatch('expert-plan.wgsl', {
    args: {
      experts,
      chosen,
      route_stride: routes.stride,
      route_first: routes.first,
      place_stride: places.stride,
      tile_rows: tileRows,
      tiles,
      most_rows: shares.rows(tape.capacity),
      count_at: tiles * (tileRows + 1),
    },
    bind: { routes: routes.ids, plan, places },
    groups: (sizes) => [Math.min(1, shares.rows(sizes))],
  });
  const tilesOf = (sizes: Sizes) => tilesFor(shares.rows(sizes) * chosen, experts, tileRows);
  const kernel = isDecode(shares) ? 'matvec' : usesGemm(shares) ? 'gemm' : 'matmul';
  return { plan, tileRows, tiles, kernel, tilesOf, places };
}
