// What the LoRAs of rows change of their embeddings, for LoRAs whose factors of embeddings stand in two tables.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

const WORKGROUP = 32;

interface EmbeddingFactors {
  /** [LoRAs, tokens · rank] */
  a: Tensor;
  /** [LoRAs, rank · columns] */
  b: Tensor;
  /** Rows of the embedding; with one, all tokens have it. */
  tokens: number;
  rank: number;
  scale: number;
}

/** x += scale · A[LoRA of the row, token] · B[LoRA of the row], in place, for rows with a LoRA on tapes that know of some; x [rows, columns] */
export function loraEmbed(
  x: Tensor,
  batch: Pick<TextBatch, 'rows'>,
  { a, b, tokens, rank, scale }: EmbeddingFactors,
): void {
  const tape = tapeOf(x);
  if (tape.rowLoras === null) return;
  if (b.columns !== rank * x.columns || a.columns !== tokens * rank || x.columns % 4 !== 0)
    throw new Error(
      `loraEmbed: factors of [${a.shape.join(', ')}] and [${b.shape.join(', ')}] for ${tokens} tokens of ${x.columns} columns`,
    );
  const quads = x.columns / 4;
  tape.dispatch('lora-embed.wgsl', {
    args: {
      quads,
      x_quads: x.stride / 4,
      a_columns: a.stride,
      b_quads: b.stride / 4,
      tokens,
      rank,
      scale,
    },
    bind: { rows: batch.rows, loras: tape.rowLoras['rows']!, a, b, x },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), x.rows(sizes)],
  });
}
