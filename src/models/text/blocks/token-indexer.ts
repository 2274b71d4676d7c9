// The indexer of sparse attention (DeepSeek-V3.2's lightning indexer): small heads of queries meet one small key a token, kept in pages of its own,
// and each row attends to the tokens with the best sums of their scores. Published ones multiply queries and keys by a Hadamard matrix before they
// round them to FP8; without rounding that changes no score, and it is left out.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { concat } from '../../../kernels/concat.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import type { Rows } from '../../../kernels/normed.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { chooseTokens, type TokenChoice } from '../../../kernels/token-choice.ts';
import type { WeightTable } from '../../weights.ts';
import type { KeptState } from './kept-states.ts';

export interface IndexerConfig extends TokenChoice {
  /** The first dimensions of a head that are rotated, and which of them a rotation turns together. */
  rotated: number;
  pairs: 'half' | 'adjacent';
}

/**
 * The tokens that each row attends to, as `attention` takes them; null: all. x [rows, hidden], `queries` [rows, rank]: what the queries of
 * attention are projected from.
 */
export type TokenChooser = (
  x: Rows,
  queries: Rows,
  rope: Tensor,
  batch: TextBatch,
  kept: KeptState,
) => Tensor | null;

export function tokenIndexer(
  config: IndexerConfig,
  { hidden, rank }: { hidden: number; rank: number },
  weights: WeightTable,
  name: string,
): TokenChooser {
  const { heads, dims, rotated, pairs } = config;
  const query = weights.matrix(`${name}.wq_b.weight`, heads * dims, rank);
  const key = weights.matrix(`${name}.wk.weight`, dims, hidden);
  const norm = {
    weight: weights.vector(`${name}.k_norm.weight`, dims),
    bias: weights.vector(`${name}.k_norm.bias`, dims),
  };
  const share = weights.matrix(`${name}.weights_proj.weight`, heads, hidden);
  const scale = 1 / Math.sqrt(dims * heads);
  const shape = { heads, kvHeads: 1, dims, rotated, pairs, scale, kv: 'one' } as const;

  return (x, queries, rope, batch, kept) => {
    if (kept.kind !== 'indexed' || kept.index === null)
      throw new Error(`${name} keeps keys in pages beside those of attention`);
    const k = layernorm(linear(x, key), norm, EPS); //                                 [rows, dims]
    const q = ropeKv(concat(linear(queries, query), k), rope, shape, kept.index, null); // [rows, heads · dims]
    const chosen = chooseTokens(q, linear(x, share), batch, kept.index, config); //    [rows, pages]
    kept.last.chosen = chosen;
    return chosen;
  };
}

/** Of the norm of keys, whatever the model's others have. */
const EPS = 1e-6;

/** The choice of the last layer before that has an indexer. */
export const sameTokens: TokenChooser = (_x, _queries, _rope, _batch, kept) => {
  if (kept.kind !== 'indexed' || kept.last.chosen === undefined)
    throw new Error('no layer before this one has an indexer');
  return kept.last.chosen;
};
