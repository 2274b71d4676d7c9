// Log probabilities of the sampled tokens and of the most likely ones.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

export const MOST_LOGPROBS = 20;
/** Words of one row: the sampled token's log probability, the best tokens as u32, and their log probabilities. */
export const LOGPROB_WORDS = 1 + 2 * MOST_LOGPROBS;

/**
 * logits [sampled, vocabulary] and batch.ids → `logprobs`, for the rows that request them. `tempered`: computed from logits divided
 * by the temperature.
 */
export function logprobs(
  logits: Tensor,
  batch: Pick<TextBatch, 'choices' | 'ids'>,
  results: Region,
  options: { tempered: boolean },
): void {
  tapeOf(logits).dispatch('logprobs.wgsl', {
    args: { vocabulary: logits.columns, stride: logits.stride, tempered: Number(options.tempered) },
    bind: { logits, choices: batch.choices, ids: batch.ids, logprobs: results },
    groups: (sizes) => [logits.rows(sizes)],
  });
}
