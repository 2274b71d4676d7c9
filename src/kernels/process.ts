// Applies a request's own function to the logits of its rows.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

/** The file from which a processor's function is linked; `none` exists on disk. */
export const processorFile = (name: string): string => `lib/processor.${name}.wgsl`;
export const PROCESS_SHADER = 'process.wgsl';

/**
 * Changes logits [sampled, vocabulary] in place, for the rows whose choice names this processor; applies penalties and biases
 * first.
 */
export function process(logits: Tensor, batch: TextBatch, { name, id }: { name: string; id: number }): void {
  const { choices, biases, counts, sampled } = batch;
  tapeOf(logits).dispatch(PROCESS_SHADER, {
    params: { PROCESSOR: name },
    args: { vocabulary: logits.columns, stride: logits.stride, processor: id },
    bind: { logits, choices, biases, counts, sampled },
    groups: (sizes) => [logits.rows(sizes)],
  });
}
