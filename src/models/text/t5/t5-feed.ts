// The feed-forward block of T5 and its norm: with a gate since version 1.1, before without.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import type { WeightTable } from '../../weights.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import type { T5Config } from './t5-config.ts';

const MLP_NAMES = { gate: 'wi_0', up: 'wi_1', down: 'wo' };

/** x [rows, hidden] → x + the block's result */
export function t5Feed(config: T5Config, weights: WeightTable, name: string): (x: Tensor) => Tensor {
  const { hidden, ffn, eps, feed } = config;
  const norm = weights.vector(`${name}.layer_norm.weight`, hidden);
  const module = `${name}.DenseReluDense`;
  if (feed.gated) {
    const mlp = gatedMlp({ hidden, ffn, mlpNames: MLP_NAMES }, weights, module, feed.activation);
    return (x) => linearAdd(mlp.gate(rmsnorm(x, norm, eps)), mlp.down, x);
  }
  const { activation } = feed;
  const up = weights.matrix(`${module}.wi.weight`, ffn, hidden, { split: 'columns' });
  const down = weights.matrix(`${module}.wo.weight`, hidden, ffn, { split: 'rows' });
  return (x) => linearAdd(linear(rmsnorm(x, norm, eps), up, { activation }), down, x);
}
