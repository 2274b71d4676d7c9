// Writes latents and the shared rotated key to their pages, and rotates the queries' dimensions that meet it.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { KvPages } from './batch.ts';
import { isCoded } from './kv-format.ts';

const WORKGROUP = 64;

/** Heads whose keys and values are made of latents. */
export interface LatentShape {
  heads: number;
  /** Dimensions of a latent. */
  rank: number;
  /** Dimensions of a query and key that are rotated; keys of all heads share them. */
  rotated: number;
  /** Dimensions of a query and key that are not rotated, which come first. */
  plain: number;
  /** Dimensions of a value. */
  values: number;
  /** Factor of the scores. */
  scale: number;
  /** Dimensions that a rotation turns together: d and d + rotated / 2, or 2 · d and 2 · d + 1. */
  pairs: 'half' | 'adjacent';
}

/**
 * latents [rows, rank + rotated], normed but for those that are rotated → the pages; q [rows, heads · (plain + rotated)], rope [rows, rotated]
 * → [rows, heads · (rank + rotated)], of which the first `rank` columns of each head are left to `headLinearAcross`; with `expanded`
 * [rows, heads · (plain + rotated)], the queries for keys of as many dimensions.
 */
export function latentKv(
  latents: Tensor,
  q: Tensor,
  rope: Tensor,
  { heads, rank, rotated, plain, scale, pairs }: LatentShape,
  { table, keys, values, format }: KvPages,
  { expanded = false } = {},
): Tensor {
  const isWhole = [rank, rotated, plain].every((dims) => dims > 0 && dims % 4 === 0);
  const columns = [latents.columns, q.columns, rope.columns];
  const wanted = [rank + rotated, heads * (plain + rotated), rotated];
  if (!isWhole || columns.some((count, i) => count !== wanted[i]))
    throw new Error(
      `latentKv: ${columns.join(', ')} columns, wanted are multiples of 4: ${wanted.join(', ')}`,
    );
  if (values !== null || isCoded(format)) throw new Error(`latentKv: pages of keys in ${format} with values`);
  const y = tapeOf(q).tensor([...q.shape.slice(0, -1), heads * ((expanded ? plain : rank) + rotated)]);
  const fours = (rank + (heads + 1) * rotated + (expanded ? heads * plain : 0)) / 4;
  tapeOf(q).dispatch('latent-kv.wgsl', {
    params: { KV: format, PAIRS: pairs, EXPANDED: expanded },
    args: {
      heads,
      rank,
      rotated,
      head_pairs: (plain + rotated) / 2,
      q_pairs: q.stride / 2,
      latent_pairs: latents.stride / 2,
      y_pairs: y.stride / 2,
      rope_quads: rope.stride / 4,
      scale,
    },
    bind: { latents, rope, places: table.places, q, y, keys },
    groups: (sizes) => [Math.ceil(fours / WORKGROUP), q.rows(sizes)],
  });
  return y;
}
