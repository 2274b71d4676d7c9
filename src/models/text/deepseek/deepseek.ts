// The layer of DeepSeek V2 and V3 and of those built like them: attention over latents, then a gated feed-forward block or experts, with a norm
// before each.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { latentAttention } from '../blocks/latent-attention.ts';
import type { DeepseekConfig } from './deepseek-config.ts';

export function deepseekLayer(config: DeepseekConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } = latentAttention(config, weights, `${name}.self_attn`);
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const mlp = feedForward(config, weights, name, i);
  // What chooses among the tokens of a context that is longer than those that it chooses.
  if (i === 0 && config.limited) weights.ignore(/\.self_attn\.indexer\./);

  return (x, rope, batch, store) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, store), out, x); // [rows, hidden]
    return mlp(normed(x, postNorm, eps), x, batch); //                               [rows, hidden]
  };
}
