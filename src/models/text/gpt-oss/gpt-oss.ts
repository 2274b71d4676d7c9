// The layer of gpt-oss: attention with a sink for each head, in windows in every other layer, and experts with biases and a clamped gate.
// Twelve dispatches per layer.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { experts } from '../blocks/experts.ts';
import type { GptOssConfig } from './gpt-oss-config.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function gptOssLayer(config: GptOssConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const feedForward = experts(hidden, config.experts, weights, name, i);

  return (x, rope, batch, kv) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, kv), out, x); // [rows, hidden]
    return feedForward(normed(x, postNorm, eps), x, batch); //                    [rows, hidden]
  };
}
