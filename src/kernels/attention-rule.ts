// Options of attention that differ by layer, and the kernels' arguments.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { HeadShape } from './batch.ts';

/** How a layer computes attention scores and weights. */
export interface AttentionRule {
  /** Number of tokens that a row sees, including itself; null: all earlier ones. */
  window: number | null;
  /** Whether the window reaches as far behind a row as before it; each row is in a span up to its text's end. */
  bothSides?: boolean;
  /** Windows begin at multiples of their length, so that rows of one chunk see each other alone; left out: with each row. */
  chunked?: boolean;
  /** Scores become cap · tanh(score / cap); null: no cap. */
  cap?: number | null;
  /** Whether rows see no later rows of their spans; left out: they do, where a batch has spans. */
  causal?: boolean;
  /** [heads]: an additional score per head that takes a share of the weights and has no value. */
  sinks?: Tensor | null;
  /** u32 [rows, pages]: a bit for each token that a row sees among those up to itself; null: it sees all. */
  chosen?: Tensor | null;
  /**
   * [1, 2 · farthest + 1, heads]: added to the scores by the distance of a key from a query, from −farthest to farthest, which those beyond share, too;
   * for heads with keys of their own, without a cap and sinks.
   */
  biases?: Tensor | null;
  /** Exponent of the least of slopes by which scores fall with the distance of a key, to both sides (shaders/lib/cap.slopes.wgsl); left out: they do not. */
  slopes?: number;
  /** Computes a part of the contexts, of prompts; left out: whole ones. */
  segment?: ContextSegment | null;
}

/**
 * Pages whose keys and values are there at a time, counted over the tables of a step's sequences. Dispatches of one segment after another sum in the order of
 * the pages, whatever their segments are.
 */
export interface ContextSegment {
  first: number;
  pages: number;
  /** What has been summed of rows that further segments go on with, and the result once there are none. */
  y: Tensor;
  /** [rows, heads · STATE_VALUES]: states of these sums. */
  held: Tensor;
}

/** Values of `ContextSegment.held` for a row and head: the largest score and the sum of weights, of each of eight lanes. */
export const STATE_VALUES = 16;

/** More tokens than a text has; with a position, within 32 bits. */
const NO_WINDOW = 2 ** 30;

/** Arguments of the kernels of shaders/lib/attention-args.wgsl. */
export function attentionArgs(
  tape: Tape,
  { heads, kvHeads, dims, valueDims = dims }: HeadShape,
  { q, y }: { q: Tensor; y: Tensor },
  { window, cap, chosen, biases, slopes = 0, segment }: AttentionRule,
): Record<string, number> {
  return {
    heads,
    kv_heads: kvHeads,
    dims,
    value_dims: valueDims,
    q_quads: q.stride / 4,
    y_quads: y.stride / 4,
    window: window ?? NO_WINDOW,
    cap: cap ?? slopes,
    rows: tape.capacity['rows'] ?? 0,
    blocks: tape.capacity['contextPages'] ?? 1,
    chosen_words: chosen?.stride ?? 0,
    farthest: biases ? (Number(biases.shape[1]) - 1) / 2 : 0,
    bias_columns: biases?.stride ?? 0,
    first_tile: 0,
    segment_first: segment?.first ?? 0,
    segment_pages: segment?.pages ?? 0,
  };
}

/** The operand of scores with a bias by distance, which has the place of sinks. */
export function biasOperand(
  { heads, kvHeads }: HeadShape,
  { cap, sinks, biases }: Pick<AttentionRule, 'cap' | 'sinks' | 'biases'>,
): { biases?: Tensor } {
  if (!biases) return {};
  if (biases.columns !== heads || heads !== kvHeads)
    throw new Error(`attention: biases of ${biases.columns} heads, for ${heads} heads on ${kvHeads} keys`);
  if (cap !== null || sinks) throw new Error('attention: biases by distance exclude a cap and sinks');
  return { biases };
}

/** What becomes of scores: shaders/lib/cap.*.wgsl. */
export function scoresVariant(
  { heads, kvHeads }: HeadShape,
  { cap = null, biases = null, slopes }: Pick<AttentionRule, 'cap' | 'biases' | 'slopes'>,
): 'none' | 'tanh' | 'distance' | 'slopes' {
  if (slopes === undefined) return biases ? 'distance' : cap === null ? 'none' : 'tanh';
  if (cap !== null || biases || heads !== kvHeads)
    throw new Error(`attention: slopes exclude a cap and biases, and shared keys (${heads} on ${kvHeads})`);
  return 'slopes';
}
