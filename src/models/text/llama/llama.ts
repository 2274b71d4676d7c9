// The layer of Llama, Mistral, Qwen, Phi-3, SmolLM3, Granite and their variants with experts: norm, attention, norm, gated feed-forward,
// with the residual stream in f32. Eight dispatches per layer without experts; in a decode step on a GPU seven, because products apply the
// norms of their inputs, with one that merges the chunks of a long context.

import { normed } from '../../../kernels/normed.ts';
import { linearAddSummed } from '../../../kernels/sum-ranks.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { LlamaConfig } from './llama-config.ts';
import { MODULES } from './llama-family.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function llamaLayer(config: LlamaConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, modules = MODULES } = config;
  const { window } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.${modules.attentionNorm}.weight`, hidden);
  const { attend, out } = selfAttention(config, weights, `${name}.${modules.attention}`, { window });
  const postNorm = weights.vector(`${name}.${modules.mlpNorm}.weight`, hidden);
  const mlp = feedForward(config, weights, name, i, modules.mlp);

  return (x, rope, batch, kv) => {
    const mixed = attend(normed(x, inputNorm, eps), rope, batch, kv); // [rows, heads · dims]
    x = linearAddSummed(mixed, out, x, batch.sums); //                   [rows, hidden]
    return mlp(normed(x, postNorm, eps), x, batch); //                   [rows, hidden]
  };
}
