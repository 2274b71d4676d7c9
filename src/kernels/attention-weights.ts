// Weights that chosen heads give to the keys of a text which all rows see: how tokens are aligned with a sound.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { HeadShape, KvPages, TextBatch } from './batch.ts';
import { isCoded } from './kv-format.ts';
import { storedHead } from './resize-heads.ts';

interface WeighedHeads {
  /** Numbers of query heads. */
  chosen: readonly number[];
  /** Keys that each row sees: the first of its pages. */
  keys: number;
}

/** q [rows, heads · dims], as `ropeKv` gives it, → [rows, chosen · keys], head by head */
export function attentionWeights(
  q: Tensor,
  { tiles }: Pick<TextBatch, 'tiles'>,
  shape: HeadShape,
  kv: KvPages,
  { chosen, keys }: WeighedHeads,
): Tensor {
  const tape = tapeOf(q);
  const { heads, kvHeads } = shape;
  const dims = storedHead(shape);
  if (isCoded(kv.format)) throw new Error(`attentionWeights: pages in codes (${kv.format})`);
  if (q.columns !== heads * dims || chosen.some((head) => !(head >= 0 && head < heads)))
    throw new Error(`attentionWeights: heads ${chosen.join(', ')} of ${heads} in ${q.columns} columns`);
  const y = tape.tensor([...q.shape.slice(0, -1), chosen.length * keys]);
  for (const [i, head] of chosen.entries())
    tape.dispatch('attention-weights.wgsl', {
      params: { KV: kv.format },
      args: {
        ...{ head, kv_head: Math.floor(head / (heads / kvHeads)), kv_heads: kvHeads, dims },
        ...{ q_quads: q.stride / 4, seen: keys, first: i * keys },
        ...{ end: i + 1 < chosen.length ? (i + 1) * keys : y.stride, stride: y.stride },
      },
      bind: { q, pages: kv.table.pages, tiles, keys: kv.keys, y },
      groups: ({ tiles: count = 0, tileRows = 0 }) => [count, tileRows],
    });
  return y;
}
