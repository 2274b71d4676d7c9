// Routing: the experts that a router's logits choose for each row, and the share of each.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { usesGemm } from './gemm.ts';
import { isDecode, matvecRows } from './matvec.ts';
import { sharedTileRows } from './shared-tile.ts';

/** Limits of route.wgsl's arrays. */
export const MOST_CHOSEN = 64;

export interface Routing {
  /** Experts per row. */
  chosen: number;
  /** Whether a row's shares add up to one; otherwise they are probabilities of the softmax over all experts. */
  normed: boolean;
  /** Factor on the logits, at least 0; left out: 1. */
  scale?: number;
}

/** A buffer that keeps the choices after the step: words from one row to the next, and words before the first row. */
export interface KeptRoutes {
  region: Operand;
  stride: number;
  first: number;
}

export interface Routes {
  /** u32: expert ids, best first. */
  ids: Operand;
  stride: number;
  first: number;
  /** [rows, chosen] */
  shares: Tensor;
  chosen: number;
  experts: number;
  /** [tiles, 1 + rows of a tile] of u32, and the number of rows; filled by expert-plan.ts. */
  plan: Tensor;
  tileRows: number;
  /** Number of tiles in the plan. */
  tiles: number;
}

/** logits [rows, experts] → the experts of each row. `gains` [experts]: factors on the shares of each; left out: 1 */
export function route(
  logits: Tensor,
  { chosen, normed, scale = 1 }: Routing,
  kept: KeptRoutes | null,
  gains: Tensor | null = null,
): Routes {
  const tape = tapeOf(logits);
  const experts = logits.columns;
  if (chosen < 1 || chosen > Math.min(experts, MOST_CHOSEN))
    throw new Error(`route: ${chosen} of ${experts} experts, the most is ${MOST_CHOSEN}`);
  const rows = logits.shape.slice(0, -1);
  const most = logits.rows(tape.capacity);
  const expected = (most * chosen) / experts;
  const tileRows = isDecode(logits)
    ? matvecRows(tape, tileRowsFor(expected))
    : usesGemm(logits)
      ? sharedTileRows(tape, expected)
      : tileRowsFor(expected);
  const tiles = tilesFor(most * chosen, experts, tileRows);
  const plan = tape.tensor([1, tiles * (tileRows + 1) + 1], 'u32');
  const shares = tape.tensor([...rows, chosen]);
  const own = kept ? null : tape.tensor([...rows, chosen], 'u32');
  const ids = own ? { ids: own, stride: own.stride, first: 0 } : { ...kept!, ids: kept!.region };
  tape.dispatch('route.wgsl', {
    params: { GAIN: gains ? 'each' : 'none' },
    args: {
      experts,
      stride: logits.stride,
      chosen,
      normed: Number(normed),
      route_stride: ids.stride,
      route_first: ids.first,
      share_stride: shares.stride,
      count_at: tiles * (tileRows + 1),
      scale,
    },
    bind: { logits, routes: ids.ids, shares, plan, ...(gains && { gains }) },
    groups: (sizes) => [logits.rows(sizes)],
  });
  return { ...ids, shares, chosen, experts, plan, tileRows, tiles };
}

/**
 * Returns the rows of a tile by the rows that an expert may expect: a tile of 16 with one row would compute 15 rows that are not
 * used.
 */
function tileRowsFor(expected: number): 1 | 4 | 16 {
  if (expected <= 0.5) return 1;
  return expected <= 4 ? 4 : 16;
}

/** Returns the largest number of tiles that `choices` choices among `experts` experts can fill. */
export function tilesFor(choices: number, experts: number, tileRows: number): number {
  return Math.floor((choices + Math.min(experts, choices) * (tileRows - 1)) / tileRows);
}
