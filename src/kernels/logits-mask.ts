// Masks of allowed tokens, one bit per token, for the rows of logits that have a mask.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

const WORKGROUP = 64;

/** Words of a row of `masks`. */
export function maskWords(vocabulary: number): number {
  return Math.ceil(vocabulary / 32);
}

/** logits [sampled, vocabulary], masks u32[…][mask words] → masked copy [sampled, vocabulary] */
export function maskLogits(logits: Tensor, batch: Pick<TextBatch, 'choices'>, masks: Region): Tensor {
  const tape = tapeOf(logits);
  const y = tape.tensor(logits.shape);
  tape.dispatch('logits-mask.wgsl', {
    args: { stride: logits.stride, mask_words: maskWords(logits.columns) },
    bind: { logits, choices: batch.choices, masks, y },
    groups: (sizes) => [Math.ceil(logits.stride / 32 / WORKGROUP), logits.rows(sizes)],
  });
  return y;
}
