// Multi-head latent attention. Keys and values of all heads are products with one latent of a token, and pages keep the latent with the
// key's rotated dimensions, which all heads share. The products with keys are absorbed by the queries and those with values by the
// output: a head's query is multiplied by its matrix of keys, meets the latents of all tokens, and what it makes of them is multiplied
// by its matrix of values. Rows of prompts may see the keys and values themselves, which are expanded segment by segment: see
// kernels/latent-expansion.ts.

import { attention } from '../../../kernels/attention.ts';
import type { HeadShape, QueryGrowth } from '../../../kernels/batch.ts';
import { expandedAttention, type AbsorbedForm } from '../../../kernels/expanded-attention.ts';
import { growRows } from '../../../kernels/grow-rows.ts';
import { latentKv, type LatentShape } from '../../../kernels/latent-kv.ts';
import { linear } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { normed, type Rows } from '../../../kernels/normed.ts';
import { rmsnormColumns } from '../../../kernels/rmsnorm-columns.ts';
import type { WeightTable } from '../../weights.ts';
import { pagesOf } from './kept-states.ts';
import { latentProducts } from './latent-products.ts';
import type { SelfAttention } from './self-attention.ts';
import type { TokenChooser } from './token-indexer.ts';

export interface LatentAttentionConfig {
  hidden: number;
  latents: LatentShape & {
    /** Dimensions that queries are projected to first; null: they are projected at once. */
    queryRank: number | null;
    /** Of the norms of latents, whatever the model's others have. */
    eps: number;
    /** Whether the first and the last projections have biases. */
    bias: boolean;
    /** Growth of queries with their position; left out: none. */
    growth?: QueryGrowth;
  };
}

/** Heads as attention and pages see them: all of them on one key, whose first dimensions are its value. */
export function latentHeads({ heads, rank, rotated, scale }: LatentShape): HeadShape {
  return { heads, kvHeads: 1, dims: rank + rotated, valueDims: rank, scale };
}

/** `choose`: chooses the tokens that a row sees; left out: it sees all. */
export function latentAttention(
  { hidden, latents: shape }: LatentAttentionConfig,
  weights: WeightTable,
  name: string,
  choose?: TokenChooser,
): SelfAttention {
  const { heads, rank, rotated, values, eps, bias, growth } = shape;
  const { project, up } = queryProjections(hidden, shape, weights, name);
  const down = weights.matrix(`${name}.kv_a_proj_with_mqa.weight`, rank + rotated, hidden, { bias });
  const norm = weights.vector(`${name}.kv_a_layernorm.weight`, rank);
  const products = latentProducts(shape, weights, name);
  const seesExpanded = choose ? null : expandedAttention(shape, products);
  const out = weights.matrix(`${name}.o_proj.weight`, hidden, heads * values, { bias });

  // → [rows, heads · values]
  const absorbed: AbsorbedForm = ({ latents, q, rope, batch, kv }, chosen, y) => {
    const own = products.absorb(q, latentKv(latents, q, rope, shape, kv)); // [rows, heads · (rank + rotated)]
    const mixed = attention(own, batch, latentHeads(shape), kv, { window: null, chosen }); // [rows, heads · rank]
    return products.expand(mixed, y);
  };

  return {
    attend(x, rope, batch, kept) {
      if (!rope) throw new Error(`${name} keeps rotated keys in pages`);
      const kv = pagesOf(kept, name);
      const queries = project(x); //                                [rows, queryRank], or x
      const own = linear(queries, up); //                           [rows, heads · (plain + rotated)]
      const q = growth ? growRows(own, growth, batch.rows) : own;
      const c = rmsnormColumns(linear(x, down), 0, norm, eps); //   [rows, rank + rotated]
      const rows = { latents: c, q, rope, batch, kv };
      const chosen = choose?.(x, queries, rope, batch, kept) ?? null;
      return seesExpanded?.(rows, absorbed) ?? absorbed(rows, chosen, null);
    },
    out,
  };
}

/** x [rows, hidden] → what `up` makes queries of: rows of `queryRank`, or x. */
function queryProjections(
  hidden: number,
  { heads, plain, rotated, queryRank, eps, bias }: LatentAttentionConfig['latents'],
  weights: WeightTable,
  name: string,
): { project(x: Rows): Rows; up: Matrix } {
  const columns = heads * (plain + rotated);
  if (queryRank === null) {
    return { project: (x) => x, up: weights.matrix(`${name}.q_proj.weight`, columns, hidden) };
  }
  const down = weights.matrix(`${name}.q_a_proj.weight`, queryRank, hidden, { bias });
  const norm = weights.vector(`${name}.q_a_layernorm.weight`, queryRank);
  const up = weights.matrix(`${name}.q_b_proj.weight`, columns, queryRank);
  return { project: (x) => normed(linear(x, down), norm, eps), up };
}
