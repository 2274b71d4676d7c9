// Draws one token a row of logits on the device and leaves it where the next step finds it.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

/** The token of a row in which no logit is a number. */
export const NOT_A_TOKEN = 0xffffffff;
/** The token of a row in which none is allowed. */
export const NO_TOKEN_ALLOWED = 0xfffffffe;
/** The bias of a token that must not come. */
export const MASKED = -3.4e38;

/** logits [sampled, vocabulary] → batch.ids and batch.sampled. The logits take up penalties and biases. */
export function sample(logits: Tensor, batch: TextBatch): void {
  const { choices, biases, counts, sampled, ids } = batch;
  const tape = tapeOf(logits);
  const { profile, capabilities } = tape.device;
  tape.dispatch('sample.wgsl', {
    params: {
      WORKGROUP: Math.min(profile.sampleWorkgroup, capabilities.maxInvocations),
    },
    args: { vocabulary: logits.columns, stride: logits.stride },
    bind: { logits, choices, biases, counts, sampled, ids },
    groups: (sizes) => [logits.rows(sizes)],
  });
}
