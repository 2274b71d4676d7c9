// The layer of Nemotron's pruned Llamas: Llama's, of which attention or the feed-forward block may be missing, with heads and widths of its own.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import { selfAttention } from '../blocks/self-attention.ts';
import type { DeciConfig } from './deci-config.ts';

export function deciLayer(config: DeciConfig, weights: WeightTable, name: string, i: number): Block {
  const { kvHeads, ffn } = config.blocks[i]!;
  const attention = kvHeads === null ? null : attentionBlock(config, weights, name, i);
  const mlp = ffn === null ? null : mlpBlock({ ...config, ffn }, weights, name);

  return (x, rope, batch, kv) => {
    const attended = attention ? attention(x, rope, batch, kv, null) : x; // [rows, hidden]
    return mlp ? mlp(attended) : attended; //                               [rows, hidden]
  };
}

function attentionBlock(config: DeciConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { heads = config.heads } = config.layers[i]!;
  const norm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const own = { ...config, heads };
  const { attend, out } = selfAttention(own, weights, `${name}.self_attn`, { window: null });
  return (x, rope, batch, kv) => linearAdd(attend(normed(x, norm, eps), rope, batch, kv), out, x);
}

function mlpBlock(config: DeciConfig, weights: WeightTable, name: string): (x: Tensor) => Tensor {
  const { hidden, eps } = config;
  const norm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`);
  return (x) => linearAdd(gate(normed(x, norm, eps)), down, x);
}
