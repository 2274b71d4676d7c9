// Attention of a prompt's rows to keys and values that are expanded from the latents in pages: a segment of the contexts at a time, whose memory is that of
// the next one, too. A step is of one form as a whole, which its sizes tell.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { attention } from './attention.ts';
import { STATE_VALUES } from './attention-rule.ts';
import type { HeadShape, KvPages, TextBatch } from './batch.ts';
import { expandedKv, type HeadRows } from './expanded-kv.ts';
import { expandedPages, segmentsOf, type ExpandedCapacity } from './latent-expansion.ts';
import { latentKv, type LatentShape } from './latent-kv.ts';
import { latentRows } from './latent-rows.ts';

/** What attention over latents computes its rows of. */
export interface LatentRows {
  /** [rows, rank + rotated], not rotated yet */
  latents: Tensor;
  /** [rows, heads · (plain + rotated)], not rotated yet */
  q: Tensor;
  rope: Tensor;
  batch: TextBatch;
  kv: KvPages;
}

/** `y`: where the result goes; null: to a tensor of its own. */
export type AbsorbedForm = (rows: LatentRows, chosen: Tensor | null, y: Tensor | null) => Tensor;

/** What the matrices of keys and values multiply. */
export interface LatentProducts {
  /** Multiplies queries by the matrices of keys, into the first `rank` columns of each head of y. */
  absorb(q: Tensor, y: Tensor): Tensor;
  /** Multiplies mixed latents [rows, heads · rank] by the matrices of values → [rows, heads · values], or y */
  expand(mixed: Tensor, y: Tensor | null): Tensor;
  /** latents [rows, rank] → keys without their rotated dimensions, and values, of all heads */
  keysAndValues(latents: Tensor): { keys: HeadRows; values: HeadRows };
}

/** Records both forms, on a tape that has room for expanded pages; null: on another one. → [rows, heads · values] */
export type ExpandedForm = (rows: LatentRows, absorbed: AbsorbedForm) => Tensor | null;

export function expandedAttention(shape: LatentShape, products: LatentProducts): ExpandedForm {
  return (rows, absorbed) => {
    const tape = tapeOf(rows.q);
    const { expandedPages: most = 0, segmentPages = most } = tape.capacity;
    if (most === 0) return null;
    const y = tape.tensor([...rows.q.shape.slice(0, -1), shape.heads * shape.values]);
    tape.only(
      (sizes) => expandedPages(sizes) === 0,
      () => void absorbed(rows, null, y),
    );
    tape.only(
      (sizes) => expandedPages(sizes) > 0,
      () => attendSegments(rows, y, { expandedPages: most, segmentPages }),
    );
    return y;
  };

  function attendSegments(
    { latents, q, rope, batch, kv }: LatentRows,
    y: Tensor,
    capacity: ExpandedCapacity,
  ): void {
    const tape = tapeOf(q);
    const heads = expandedHeads(shape);
    const queries = latentKv(latents, q, rope, shape, kv, { expanded: true }); // [rows, heads · (plain + rotated)]
    const held = tape.tensor([...q.shape.slice(0, -1), shape.heads * STATE_VALUES]);
    for (const range of segmentsOf(capacity)) {
      tape.only(
        (sizes) => range.count(sizes) > 0,
        () => {
          const { normed, rotated } = latentRows(tape, kv, shape, range); // [tokens, rank], [tokens, rotated]
          const own = expandedKv({ ...products.keysAndValues(normed), rotated }, shape, kv, range);
          const segment = { first: range.first, pages: capacity.segmentPages, y, held };
          attention(queries, batch, heads, own, { window: null, segment });
        },
      );
    }
  }
}

/** Heads with keys and values of their own. */
function expandedHeads({ heads, plain, rotated, values, scale }: LatentShape): HeadShape {
  return { heads, kvHeads: heads, dims: plain + rotated, valueDims: values, scale };
}
