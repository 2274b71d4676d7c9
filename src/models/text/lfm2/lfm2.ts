// The layer of LFM2: a gated short convolution or attention, then a gated feed-forward block or experts, with a norm before each.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { multiply } from '../../../kernels/multiply.ts';
import { normed, type Rows } from '../../../kernels/normed.ts';
import { shortConv } from '../../../kernels/short-conv.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { slotsOf, type KeptState } from '../blocks/kept-states.ts';
import type { Lfm2Config } from './lfm2-config.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function lfm2Layer(config: Lfm2Config, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window, slot } = config.layers[i]!;
  const operatorNorm = weights.vector(`${name}.operator_norm.weight`, hidden);
  const { attend, out } =
    slot === undefined
      ? selfAttention(config, weights, `${name}.self_attn`, { window })
      : gatedConv(config, weights, `${name}.conv`);
  const ffnNorm = weights.vector(`${name}.ffn_norm.weight`, hidden);
  const mlp = feedForward(config, weights, name, i);

  return (x, rope, batch, store) => {
    x = linearAdd(attend(normed(x, operatorNorm, eps), rope, batch, store), out, x); // [rows, hidden]
    return mlp(normed(x, ffnNorm, eps), x, batch); //                                   [rows, hidden]
  };
}

/** c · conv(b · x), where one projection gives b, c and x. */
function gatedConv({ hidden, taps, convBias }: Lfm2Config, weights: WeightTable, name: string) {
  const input = weights.matrix(`${name}.in_proj.weight`, 3 * hidden, hidden, {
    bias: convBias,
    split: 'columns',
  });
  const kernel = weights.table(`${name}.conv.weight`, hidden, taps);
  const bias = convBias ? weights.vector(`${name}.conv.bias`, hidden) : null;
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, hidden, { bias: convBias, split: 'rows' });

  return {
    attend(x: Rows, _: Tensor | null, batch: TextBatch, kept: KeptState): Tensor {
      const store = slotsOf(kept, name);
      const parts = linear(x, input); //                                                     [rows, 3 · hidden]
      const gated = multiply(parts, { x: parts, first: 2 * hidden }, hidden); //             [rows, hidden]
      const mixed = shortConv(gated, kernel, batch, store, { bias }); //                     [rows, hidden]
      return multiply({ x: parts, first: hidden }, mixed, hidden); //                        [rows, hidden]
    },
    out,
  };
}
