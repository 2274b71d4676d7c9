// The feed-forward block of decoders of which some or all layers have experts, with the addition to the residual stream.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import type { Rows } from '../../../kernels/normed.ts';
import { linearAddSummed } from '../../../kernels/sum-ranks.ts';
import type { WeightTable } from '../../weights.ts';
import { experts } from './experts.ts';
import type { ExpertsConfig } from './experts-config.ts';
import { gatedMlp, type MlpConfig } from './gated-mlp.ts';

export type FeedForwardConfig = MlpConfig & {
  experts?: ExpertsConfig | null;
  /** Module of the block for all tokens; left out: mlp. */
  mlpModule?: string;
};

/** residual + block(x); x and residual [rows, hidden] → [rows, hidden] */
export type FeedForward = (x: Rows, residual: Tensor, batch: TextBatch) => Tensor;

/** Feed-forward block of layer `i`, whose weights' names begin with `name`; `module`: the block of all tokens. */
export function feedForward(
  config: FeedForwardConfig,
  weights: WeightTable,
  name: string,
  i: number,
  module = config.mlpModule ?? 'mlp',
): FeedForward {
  const { hidden, experts: mixture } = config;
  if (mixture?.layers[i]) {
    const before = mixture.layers.slice(0, i).filter(Boolean).length;
    return experts(hidden, mixture, weights, name, before);
  }
  const { gate, down } = gatedMlp(config, weights, `${name}.${module}`);
  return (x, residual, batch) => linearAddSummed(gate(x), down, residual, batch.sums); // [rows, hidden]
}
