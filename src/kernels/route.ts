// Routing: the experts that a router's logits choose for each row, and the share of each. Three kernels: route.wgsl for the best logits
// with the shares of a softmax, route-near.wgsl for those of softmaxes over logits near the chosen ones, route-scores.wgsl for everything else.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { usesGemm } from './gemm.ts';
import { isDecode, matvecRows } from './matvec.ts';
import { sharedTileRows } from './shared-tile.ts';

/** Limits of the arrays of lib/route-choice.wgsl and route-scores.wgsl. */
export const MOST_CHOSEN = 64;
export const MOST_GROUPS = 64;
const MOST_SCORED = 512;

export interface Routing {
  /** Experts per row. */
  chosen: number;
  /** Whether a row's shares add up to one; otherwise they are the scores of its experts. */
  normed: boolean;
  /** Scores of the experts: a softmax over all logits, or the sigmoid of each. Left out: softmax. */
  scores?: 'softmax' | 'sigmoid';
  /** Groups of neighbouring experts, of which only the best are open to a row; left out: all are. */
  groups?: ExpertGroups;
  /** Factor on the logits of a softmax, at least 0; left out: 1. */
  logitScale?: number;
  /** Factor on the shares; left out: 1. */
  scale?: number;
  /**
   * An expert's share is that of a softmax over those that are not chosen before it and whose logits differ from its own by at most this part of
   * the larger of the two. Left out: over all.
   */
  margin?: number;
}

export interface ExpertGroups {
  count: number;
  /** Open groups per row. */
  chosen: number;
  /** A group is as good as its best expert, or as the sum of its two best. */
  by: 1 | 2;
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

/** Vectors of a router, [experts] each; left out: it has none. */
export interface RouterVectors {
  /** Added to the scores for the choice, not for the shares. */
  bias?: Tensor | null;
  /** Factors on the shares. */
  gains?: Tensor | null;
}

/** logits [rows, experts] → the experts of each row. */
export function route(
  logits: Tensor,
  routing: Routing,
  kept: KeptRoutes | null,
  vectors: RouterVectors = {},
): Routes {
  const tape = tapeOf(logits);
  const { chosen } = routing;
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
  const { shader, params, args, bind } = variant(experts, routing, vectors);
  tape.dispatch(shader, {
    params,
    args: {
      experts,
      stride: logits.stride,
      chosen,
      normed: Number(routing.normed),
      route_stride: ids.stride,
      route_first: ids.first,
      share_stride: shares.stride,
      count_at: tiles * (tileRows + 1),
      ...args,
    },
    bind: { logits, routes: ids.ids, shares, plan, ...bind },
    groups: (sizes) => [logits.rows(sizes)],
  });
  return { ...ids, shares, chosen, experts, plan, tileRows, tiles };
}

interface RouteVariant {
  shader: string;
  params: Record<string, string>;
  args: Record<string, number>;
  bind: Record<string, Tensor>;
}

/** The kernel of a routing, with the arguments and tensors that only it has. */
function variant(
  experts: number,
  routing: Routing,
  { bias = null, gains = null }: RouterVectors,
): RouteVariant {
  const {
    chosen,
    scores = 'softmax',
    groups = { count: 1, chosen: 1, by: 1 },
    scale = 1,
    logitScale = 1,
    margin,
  } = routing;
  if (margin !== undefined) {
    if (scores !== 'softmax' || groups.count > 1 || scale !== 1 || logitScale !== 1 || bias || gains)
      throw new Error('route: shares among near logits have no groups, factors or biases');
    return { shader: 'route-near.wgsl', params: {}, args: { scale: 1, margin }, bind: {} };
  }
  if (scores === 'softmax' && groups.count === 1 && scale === 1 && bias === null)
    return {
      shader: 'route.wgsl',
      params: { GAIN: gains ? 'each' : 'none' },
      args: { scale: logitScale, margin: 0 },
      bind: gains ? { gains } : {},
    };
  if (gains || logitScale !== 1)
    throw new Error('route: factors on logits and on single experts are for shares of a softmax');
  if (experts > MOST_SCORED) throw new Error(`route: ${experts} experts, the most is ${MOST_SCORED}`);
  const { count, chosen: open, by } = groups;
  const fits = count <= MOST_GROUPS && experts % count === 0 && open <= count;
  if (!fits || (open * experts) / count < chosen)
    throw new Error(`route: ${open} of ${count} groups of ${experts} experts, of which ${chosen} are chosen`);
  return {
    shader: 'route-scores.wgsl',
    params: { SCORES: scores, BIAS: bias ? 'add' : 'none' },
    args: { groups: count, groups_chosen: open, group_members: by, scale },
    bind: bias ? { choice_biases: bias } : {},
  };
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
