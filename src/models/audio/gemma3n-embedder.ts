// Rows of Gemma 3n's encoders as rows of its language model, and the tokens that have rows in a table of the encoder's own.

import type { Tensor, TensorOwner } from '../../gpu/tensor.ts';
import { takeRows } from '../../kernels/copy-rows.ts';
import { linear } from '../../kernels/matmul.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';

export interface Gemma3nEmbedderConfig {
  hidden: number;
  /** Columns of the language model's rows. */
  out: number;
  eps: number;
  /** Rows of the table of tokens. */
  vocabulary: number;
}

export interface Gemma3nEmbedder {
  /** x [items, rows, hidden] → [items, rows, out] */
  rows(x: Tensor): Tensor;
  /** The token of a row of the table, [1, 1, out]. */
  token(tape: TensorOwner, row: number): Tensor;
}

/** `name`: prefix of the tensors, which ends with a dot; `gain`: factor on the encoder's rows, left out: 1. */
export function gemma3nEmbedder(
  { hidden, out, eps, vocabulary }: Gemma3nEmbedderConfig,
  weights: WeightTable,
  name: string,
  gain = 1,
): Gemma3nEmbedder {
  const table = weights.table(`${name}embedding.weight`, vocabulary, hidden);
  const ofTokens = weights.vector(`${name}hard_embedding_norm.weight`, hidden);
  const ofRows = weights.vector(`${name}soft_embedding_norm.weight`, hidden);
  const project = weights.matrix(`${name}embedding_projection.weight`, out, hidden);
  const embedded = (x: Tensor, norm: Tensor, normEps: number): Tensor =>
    rmsnorm(linear(rmsnorm(x, norm, normEps), project), null, eps);
  return {
    // A norm undoes a factor on what it reads, but for its eps.
    rows: (x) => embedded(x, ofRows, eps / gain ** 2),
    token: (tape, row) => embedded(takeRows(table.on(tape), row, [1, 1]), ofTokens, eps),
  };
}
