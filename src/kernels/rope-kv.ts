// Splits fused q, k, v into heads: per-head norm, rotation, scaling, and the write of k and v to their pages.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { assertHeads, type HeadNorms, type HeadShape, type KvPages } from './batch.ts';

const WORKGROUP = 32;

/**
 * `rope`: the result of `rotations`; null: heads are not rotated. qkv [rows, (heads + 2 · kvHeads) · dims], gates beside the
 * queries if they have any → q [rows, heads · dims], normalized, rotated and multiplied by the scores' scale
 */
export function ropeKv(
  qkv: Tensor,
  rope: Tensor | null,
  shape: HeadShape,
  kv: KvPages,
  norms: HeadNorms | null,
): Tensor {
  const tape = tapeOf(qkv);
  const {
    heads,
    kvHeads,
    dims,
    scale = 1 / Math.sqrt(dims),
    rotated = dims,
    pairs = 'half',
    gated = false,
  } = shape;
  const queries = gated ? 2 * heads : heads;
  assertHeads('ropeKv', shape, qkv.columns, queries + 2 * kvHeads);
  if (rotated % 4 !== 0 || rotated > dims || (rope && rope.columns !== rotated))
    throw new Error(`ropeKv: ${rotated} of ${dims} dimensions rotated by a table of ${rope?.columns}`);
  const q = tape.tensor([...qkv.shape.slice(0, -1), heads * dims]);
  tape.dispatch('rope-kv.wgsl', {
    params: { HEAD: norms ? 'norm' : 'plain', KV: kv.format, ROPE: rope ? 'rope' : 'none', PAIRS: pairs },
    args: {
      heads,
      kv_heads: kvHeads,
      dims,
      query_heads: queries,
      rotated,
      qkv_pairs: qkv.stride / 2,
      q_pairs: q.stride / 2,
      rope_quads: rope ? rope.stride / 4 : 0,
      scale,
      eps: norms?.eps ?? 0,
    },
    bind: {
      qkv,
      places: kv.table.places,
      q,
      keys: kv.keys,
      values: kv.values,
      ...(rope ? { rope } : {}),
      ...(norms ? { q_norm: norms.q, k_norm: norms.k } : {}),
    },
    groups: (sizes) => [Math.ceil((heads + 2 * kvHeads) / WORKGROUP), qkv.rows(sizes)],
  });
  return q;
}
