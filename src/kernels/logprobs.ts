// Log probabilities of the sampled tokens and of the most likely ones.

import type { Groups } from '../gpu/dispatch.ts';
import { tapeOf } from '../gpu/tape.ts';
import type { Region, Sizes, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

export const MOST_LOGPROBS = 20;
/** Words of one row: the sampled token's log probability, the best tokens as u32, and their log probabilities. */
export const LOGPROB_WORDS = 1 + 2 * MOST_LOGPROBS;

/** Parts of a row whose maxima are kept, and how many a workgroup finds; classes of tokens whose weights are summed in order. See the shaders. */
const CHUNKS = 512;
const CHUNKS_EACH = 8;
const CLASSES = 64;
/** Words of an entry of the maxima. */
const BEST_WORDS = 2;

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
  const tape = tapeOf(logits);
  const { choices, ids } = batch;
  const args = { vocabulary: logits.columns, stride: logits.stride };
  const tempered = Number(options.tempered);
  const rows = logits.shape.slice(0, -1);
  const groups = (sizes: Sizes): Groups => [logits.rows(sizes)];
  if (!tape.device.profile.dividesSampling) {
    tape.dispatch('logprobs.wgsl', {
      args: { ...args, tempered },
      bind: { logits, choices, ids, logprobs: results },
      groups,
    });
    return;
  }
  const maxima = tape.tensor([...rows, CHUNKS * BEST_WORDS], 'u32');
  const totals = tape.tensor([...rows, CLASSES]);
  tape.dispatch('logprobs-maxima.wgsl', {
    args,
    bind: { logits, choices, maxima },
    groups: (sizes) => [CHUNKS / CHUNKS_EACH, logits.rows(sizes)],
  });
  tape.dispatch('logprobs-mass.wgsl', {
    args: { ...args, tempered },
    bind: { logits, choices, maxima, totals },
    groups: (sizes) => [CLASSES, logits.rows(sizes)],
  });
  tape.dispatch('logprobs-report.wgsl', {
    args: { ...args, tempered },
    bind: { logits, choices, ids, logprobs: results, found: maxima, totals },
    groups,
  });
}
