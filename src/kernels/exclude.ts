// Excludes masked tokens from sampling by overwriting their logits, for steps in which the original logits are not read. Masks:
// logits-mask.ts.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';
import { maskWords } from './logits-mask.ts';

const WORKGROUP = 64;

/** logits [sampled, vocabulary], masks u32[…][mask words] → logits, in place */
export function exclude(logits: Tensor, batch: Pick<TextBatch, 'choices'>, masks: Region): void {
  const words = maskWords(logits.columns);
  tapeOf(logits).dispatch('exclude.wgsl', {
    args: { vocabulary: logits.columns, stride: logits.stride, mask_words: words },
    bind: { logits, choices: batch.choices, masks },
    groups: (sizes) => [Math.ceil(words / WORKGROUP), logits.rows(sizes)],
  });
}
