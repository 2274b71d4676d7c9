// The layer of Llama 4: that of llama.ts, in two kinds. Layers with positions norm queries and keys behind the rotation without weights, and see a chunk of
// the text; the others see all of it, by queries that grow with their position.

import type { WeightTable } from '../../weights.ts';
import { normed } from '../../../kernels/normed.ts';
import { linearAdd } from '../../../kernels/matmul.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { selfAttention } from '../blocks/self-attention.ts';
import type { LlamaConfig } from '../llama/llama-config.ts';

export function llama4Layer(config: LlamaConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, queryNorm = 'none' } = config;
  const { window, rope: table, heads = config.heads } = config.layers[i]!;
  const own = { ...config, heads, queryNorm: table === null ? 'none' : queryNorm } as const;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } = selfAttention(own, weights, `${name}.self_attn`, { window, chunked: true });
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const mlp = feedForward(config, weights, name, i, 'feed_forward');

  return (x, rope, batch, kv) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, kv), out, x); // [rows, hidden]
    return mlp(normed(x, postNorm, eps), x, batch); //                            [rows, hidden]
  };
}
