// The layer of Gemma 4: that of Gemma 3 with heads of two sizes, values that are normalized and, in full layers, are the keys, and a
// scalar that ends the layer. Ten dispatches per layer.

import { linear } from '../../kernels/matmul.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../weights.ts';
import type { DecoderModel } from './decoder-architecture.ts';
import type { Block } from './decoder.ts';
import { gatedMlp, type MlpConfig } from './gated-mlp.ts';
import { selfAttention, type AttentionConfig } from './self-attention.ts';

export type Gemma4Config = DecoderModel & AttentionConfig & MlpConfig;

export function gemma4Layer(config: Gemma4Config, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window, heads = config.heads } = config.layers[i]!;
  const norm = (own: string) => weights.vector(`${name}.${own}.weight`, hidden);
  const beforeAttention = norm('input_layernorm');
  const { attend, out } = selfAttention({ ...config, heads }, weights, `${name}.self_attn`, { window });
  const behindAttention = norm('post_attention_layernorm');
  const beforeMlp = norm('pre_feedforward_layernorm');
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`, 'gelu-tanh');
  const behindMlp = norm('post_feedforward_layernorm');
  const scalar = weights.vector(`${name}.layer_scalar`, 1);

  return (x, rope, batch, kv) => {
    const attended = linear(attend(rmsnorm(x, beforeAttention, eps), rope, batch, kv), out); // [rows, hidden]
    x = rmsnormAdd(attended, behindAttention, eps, null, x);
    const fed = linear(gate(rmsnorm(x, beforeMlp, eps)), down); //                              [rows, hidden]
    return rmsnormAdd(fed, behindMlp, eps, null, x, scalar);
  };
}
