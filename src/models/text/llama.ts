// The layer of Llama, Mistral, Qwen, Phi-3, SmolLM3, Granite and their variants with experts: norm, attention, norm, gated feed-forward,
// with the residual stream in f32. Eight dispatches per layer without experts.

import type { Tensor } from '../../gpu/tensor.ts';
import { linearAdd } from '../../kernels/matmul.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import type { Block } from './decoder.ts';
import { experts } from './experts.ts';
import { gatedMlp } from './gated-mlp.ts';
import type { LlamaConfig } from './llama-config.ts';
import { selfAttention } from './self-attention.ts';

export function llamaLayer(config: LlamaConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const feedForward = config.experts?.layers[i]
    ? experts(hidden, config.experts, weights, name, sparseBefore(config, i))
    : mlp(config, weights, `${name}.mlp`);

  return (x, rope, batch, kv) => {
    x = linearAdd(attend(rmsnorm(x, inputNorm, eps), rope, batch, kv), out, x); // [rows, hidden]
    return feedForward(rmsnorm(x, postNorm, eps), x, batch); //                    [rows, hidden]
  };
}

/** Number of layers with experts before layer i. */
function sparseBefore({ experts }: LlamaConfig, i: number): number {
  return experts!.layers.slice(0, i).filter(Boolean).length;
}

function mlp(config: LlamaConfig, weights: WeightTable, name: string) {
  const { gate, down } = gatedMlp(config, weights, name);
  return (x: Tensor, residual: Tensor): Tensor => linearAdd(gate(x), down, residual); // [rows, hidden]
}
