// Draws one token per row of logits on the device and stores it where the next step reads it.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { sampleInParts, type SampledBatch } from './sample-parts.ts';

/** Token of a row in which every logit is NaN. */
export const NOT_A_TOKEN = 0xffffffff;
/** Token of a row in which no token is allowed. */
export const NO_TOKEN_ALLOWED = 0xfffffffe;
/** Bias of an excluded token. */
export const MASKED = -3.4e38;

/**
 * logits [sampled, vocabulary] → batch.ids and batch.sampled. Penalties and biases are added to the logits in place. Sizes of a replay may
 * include `drawn` and `cut`: see sample-parts.ts.
 */
export function sample(logits: Tensor, batch: SampledBatch): void {
  const { choices, biases, counts, sampled, ids } = batch;
  const tape = tapeOf(logits);
  const { profile } = tape.device;
  if (profile.dividesSampling) {
    sampleInParts(logits, batch);
    return;
  }
  tape.dispatch('sample.wgsl', {
    params: { WORKGROUP: profile.sampleWorkgroup },
    args: { vocabulary: logits.columns, stride: logits.stride },
    bind: { logits, choices, biases, counts, sampled, ids },
    groups: (sizes) => [logits.rows(sizes)],
  });
}
