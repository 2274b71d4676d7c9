// The layer of Gemma 2, Gemma 3 and GLM-4 of 2025: norms before and after each block, windowed or full attention, gated feed-forward. Ten
// dispatches per layer.

import { linear } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from './decoder-architecture.ts';
import type { Block } from './decoder.ts';
import { gatedMlp, type MlpConfig } from './gated-mlp.ts';
import { selfAttention, type AttentionConfig } from './self-attention.ts';

export type SandwichConfig = DecoderModel & AttentionConfig & MlpConfig & SandwichNorms;

export interface SandwichNorms {
  /** Names of the four norms, in the order in which they are applied. */
  normNames: readonly [
    beforeAttention: string,
    behindAttention: string,
    beforeMlp: string,
    behindMlp: string,
  ];
  /** Activation of the gate. */
  activation: 'silu' | 'gelu-tanh';
  /** Soft cap of attention's scores; null: none. */
  scoreCap: number | null;
}

export function sandwichLayer(config: SandwichConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, normNames, normPlus: plus = 0, scoreCap: cap } = config;
  const { window } = config.layers[i]!;
  const { bidirectional: bothSides = false } = config;
  const norm = (place: number) => weights.vector(`${name}.${normNames[place]}.weight`, hidden, { plus });
  const beforeAttention = norm(0);
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window, bothSides, cap });
  const behindAttention = norm(1);
  const beforeMlp = norm(2);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`, config.activation);
  const behindMlp = norm(3);

  return (x, rope, batch, kv) => {
    const attended = linear(attend(normed(x, beforeAttention, eps), rope, batch, kv), out); // [rows, hidden]
    x = rmsnormAdd(attended, behindAttention, eps, null, x);
    const fed = linear(gate(normed(x, beforeMlp, eps)), down); //                              [rows, hidden]
    return rmsnormAdd(fed, behindMlp, eps, null, x);
  };
}
