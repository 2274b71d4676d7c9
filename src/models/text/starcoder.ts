// The layer of StarCoder 2: LayerNorms with biases, attention, and a feed-forward block without a gate. Seven dispatches per layer.

import { linear, linearAdd } from '../../kernels/matmul.ts';
import type { WeightTable } from '../weights.ts';
import type { Block } from './decoder.ts';
import { norm } from './norm.ts';
import { selfAttention } from './self-attention.ts';
import type { StarcoderConfig } from './starcoder-config.ts';

export function starcoderLayer(
  config: StarcoderConfig,
  weights: WeightTable,
  name: string,
  i: number,
): Block {
  const { hidden, ffn, eps, outBias: bias } = config;
  const { window } = config.layers[i]!;
  const inputNorm = norm(weights, `${name}.input_layernorm`, hidden, { kind: 'layer', eps });
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const postNorm = norm(weights, `${name}.post_attention_layernorm`, hidden, { kind: 'layer', eps });
  const up = weights.matrix(`${name}.mlp.c_fc.weight`, ffn, hidden, { bias, split: 'columns' });
  const down = weights.matrix(`${name}.mlp.c_proj.weight`, hidden, ffn, { bias, split: 'rows' });

  return (x, rope, batch, kv) => {
    x = linearAdd(attend(inputNorm.all(x), rope, batch, kv), out, x); //            [rows, hidden]
    const y = linear(postNorm.all(x), up, { activation: 'gelu-tanh' }); //          [rows, ffn]
    return linearAdd(y, down, x); //                                                [rows, hidden]
  };
}
