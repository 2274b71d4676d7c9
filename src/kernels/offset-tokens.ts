// Tokens of a model whose vocabulary is a part of another one, as tokens of that.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

/** Adds to each of batch.ids what `offsets` u32[count] has for it, modulo 2³², also in batch.sampled; tokens from `count` on stay. */
export function offsetTokens(
  tape: Tape,
  { ids, sampled, choices }: Pick<TextBatch, 'ids' | 'sampled' | 'choices'>,
  offsets: Region,
  count: number,
): void {
  tape.dispatch('offset-tokens.wgsl', {
    args: { count },
    bind: { ids, sampled, choices, offsets },
    groups: (sizes) => [sizes['sampled']!],
  });
}
