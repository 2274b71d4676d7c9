// The layer of Qwen3-Next, Qwen3.5 and Qwen3.6: gated DeltaNet or gated attention, then a gated feed-forward block or experts, with a
// norm of 1 + w before each.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { gatedDeltaNet } from '../blocks/gated-delta-net.ts';
import type { Qwen3NextConfig } from './qwen3-next-config.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function qwen3NextLayer(
  config: Qwen3NextConfig,
  weights: WeightTable,
  name: string,
  i: number,
): Block {
  const { hidden, eps } = config;
  const { window, slot } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden, { plus: 1 });
  const { attend, out } =
    slot === undefined
      ? selfAttention(config, weights, `${name}.self_attn`, { window })
      : gatedDeltaNet(config, weights, `${name}.linear_attn`);
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden, { plus: 1 });
  const mlp = feedForward(config, weights, name, i);
  // Layers that predict several tokens ahead.
  if (i === 0) weights.ignore(/^mtp\./);

  return (x, rope, batch, store) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, store), out, x); // [rows, hidden]
    return mlp(normed(x, postNorm, eps), x, batch); //                               [rows, hidden]
  };
}
