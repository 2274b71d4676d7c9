// The layer of Falcon-H1: attention and Mamba-2 beside each other, then a gated feed-forward block, with a norm before each.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import { scale } from '../../../kernels/scale.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import { mamba2 } from '../blocks/mamba2.ts';
import { selfAttention } from '../blocks/self-attention.ts';
import type { FalconH1Config } from './falcon-h1-config.ts';

export function falconH1Layer(config: FalconH1Config, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, attentionOut } = config;
  const { window } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const attention = selfAttention(config, weights, `${name}.self_attn`, { window });
  const mamba = mamba2(config, weights, `${name}.mamba`);
  const mlpNorm = weights.vector(`${name}.pre_ff_layernorm.weight`, hidden);
  const { gate, down } = gatedMlp(config, weights, `${name}.feed_forward`);

  return (x, rope, batch, kept) => {
    const y = normed(x, inputNorm, eps); //                                 [rows, hidden]
    const mixed = scale(attention.attend(y, rope, batch, kept), attentionOut); // [rows, heads · dims]
    const scanned = mamba.attend(y, rope, batch, kept); //                  [rows, columns of the heads]
    x = linearAdd(scanned, mamba.out, linearAdd(mixed, attention.out, x)); // [rows, hidden]
    return linearAdd(gate(normed(x, mlpNorm, eps)), down, x); //            [rows, hidden]
  };
}
