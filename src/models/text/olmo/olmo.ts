// The layer of OLMo 2 and OLMo 3: norms follow each block instead of preceding it, and queries and keys are normed as whole rows. Ten
// dispatches per layer.

import { linear } from '../../../kernels/matmul.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import type { OlmoConfig } from './olmo-config.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function olmoLayer(config: OlmoConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window } = config.layers[i]!;
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const postAttention = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`);
  const postFeedForward = weights.vector(`${name}.post_feedforward_layernorm.weight`, hidden);

  return (x, rope, batch, kv) => {
    x = rmsnormAdd(linear(attend(x, rope, batch, kv), out), postAttention, eps, null, x); // [rows, hidden]
    return rmsnormAdd(linear(gate(x), down), postFeedForward, eps, null, x); //              [rows, hidden]
  };
}
