// The layer of Gemma 2 and Gemma 3: norms before and after each block, windowed or full attention, GEGLU by tanh. Norms multiply by
// 1 + w. Ten dispatches per layer.

import { linear } from '../../kernels/matmul.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../weights.ts';
import type { Block } from './decoder.ts';
import { gatedMlp } from './gated-mlp.ts';
import type { GemmaConfig } from './gemma-config.ts';
import { selfAttention } from './self-attention.ts';

export function gemmaLayer(config: GemmaConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, scoreCap: cap } = config;
  const { window } = config.layers[i]!;
  const norm = (place: string) => weights.vector(`${name}.${place}.weight`, hidden, { plus: 1 });
  const inputNorm = norm('input_layernorm');
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window, cap });
  const postAttention = norm('post_attention_layernorm');
  const preFeedForward = norm('pre_feedforward_layernorm');
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`, 'gelu-tanh');
  const postFeedForward = norm('post_feedforward_layernorm');

  return (x, rope, batch, kv) => {
    const attended = linear(attend(rmsnorm(x, inputNorm, eps), rope, batch, kv), out); // [rows, hidden]
    x = rmsnormAdd(attended, postAttention, eps, null, x);
    const fed = linear(gate(rmsnorm(x, preFeedForward, eps)), down); //                  [rows, hidden]
    return rmsnormAdd(fed, postFeedForward, eps, null, x);
  };
}
