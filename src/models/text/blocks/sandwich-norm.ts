// The layer of Gemma and GLM-4 of 2025: norms before and mostly after each block, windowed or full attention, gated feed-forward. Ten
// dispatches per layer, eight without norms behind blocks.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { normed } from '../../../kernels/normed.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from './decoder-architecture.ts';
import type { Block } from './decoder.ts';
import { gatedMlp, type MlpConfig } from './gated-mlp.ts';
import { selfAttention, type AttentionConfig } from './self-attention.ts';

export type SandwichConfig = DecoderModel & AttentionConfig & MlpConfig & SandwichNorms;

export interface SandwichNorms {
  /** Names of the norms, in the order in which they are applied; null: there is none. */
  normNames: readonly [
    beforeAttention: string,
    behindAttention: string | null,
    beforeMlp: string,
    behindMlp: string | null,
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
  const norm = (one: string): Tensor => weights.vector(`${name}.${one}.weight`, hidden, { plus });
  const [first, behindAttention, second, behindMlp] = normNames;
  const beforeAttention = norm(first);
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window, bothSides, cap });
  const addAttended = added(out, behindAttention === null ? null : norm(behindAttention), eps);
  const beforeMlp = norm(second);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`, config.activation);
  const addFed = added(down, behindMlp === null ? null : norm(behindMlp), eps);

  return (x, rope, batch, kv) => {
    x = addAttended(attend(normed(x, beforeAttention, eps), rope, batch, kv), x); // [rows, hidden]
    return addFed(gate(normed(x, beforeMlp, eps)), x); //                            [rows, hidden]
  };
}

/** residual + norm(matrix · x), or without the norm */
function added(matrix: Matrix, weight: Tensor | null, eps: number) {
  return (x: Tensor, residual: Tensor): Tensor =>
    weight === null
      ? linearAdd(x, matrix, residual)
      : rmsnormAdd(linear(x, matrix), weight, eps, null, residual);
}
