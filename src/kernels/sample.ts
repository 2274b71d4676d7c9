// Draws one token a row of logits on the device and leaves it where the next step finds it.

import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

/** The token of a row in which no logit is a number. */
export const NOT_A_TOKEN = 0xffffffff;

/** logits [sampled, vocabulary] → batch.ids and batch.sampled. The logits take up the bias. */
export function sample(logits: Tensor, batch: TextBatch): void {
  tapeOf(logits).dispatch('sample.wgsl', {
    args: { vocabulary: logits.columns, stride: logits.stride },
    bind: { logits, choices: batch.choices, biases: batch.biases, sampled: batch.sampled, ids: batch.ids },
    groups: (sizes) => [logits.rows(sizes)],
  });
}
