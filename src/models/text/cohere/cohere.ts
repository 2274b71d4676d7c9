// The layer of Cohere's Command R7B and Command A: attention and feed-forward read one LayerNorm and are added to the residual stream
// together. Seven dispatches per layer.

import { linearAdd } from '../../../kernels/matmul.ts';
import type { WeightTable } from '../../weights.ts';
import type { CohereConfig } from './cohere-config.ts';
import type { Block } from '../blocks/decoder.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import { norm } from '../blocks/norm.ts';
import { selfAttention } from '../blocks/self-attention.ts';

export function cohereLayer(config: CohereConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps } = config;
  const { window } = config.layers[i]!;
  const inputNorm = norm(weights, `${name}.input_layernorm`, hidden, { kind: 'layer-weight', eps });
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`);

  return (x, rope, batch, kv) => {
    const y = inputNorm.all(x); //                                [rows, hidden]
    x = linearAdd(attend(y, rope, batch, kv), out, x); //         [rows, hidden]
    return linearAdd(gate(y), down, x); //                        [rows, hidden]
  };
}
