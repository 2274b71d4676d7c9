// The layer of StarCoder 2 and GPT-NeoX: LayerNorms with biases, attention, and a feed-forward block without a gate, one after the other
// or beside each other. Seven dispatches per layer.

import type { Activation } from '../../../kernels/activation.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from './decoder-architecture.ts';
import type { Block } from './decoder.ts';
import { norm } from './norm.ts';
import { selfAttention, type AttentionConfig } from './self-attention.ts';

export interface PlainConfig extends DecoderModel, AttentionConfig {
  /** Names of the modules in a layer. */
  modules: { attention: string; up: string; down: string };
  activation: Activation;
  /** Whether the feed-forward block has biases. */
  mlpBias: boolean;
  /** Both blocks read the layer's input; otherwise the second reads what the first has added to it. */
  parallel: boolean;
}

export function plainLayer(config: PlainConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, ffn, eps, modules, activation, parallel, mlpBias: bias } = config;
  const { window } = config.layers[i]!;
  const attentionNorm = norm(weights, `${name}.input_layernorm`, hidden, { kind: 'layer', eps });
  const { attend, out } = selfAttention(config, weights, `${name}.${modules.attention}`, { window });
  const mlpNorm = norm(weights, `${name}.post_attention_layernorm`, hidden, { kind: 'layer', eps });
  const up = weights.matrix(`${name}.${modules.up}.weight`, ffn, hidden, { bias, split: 'columns' });
  const down = weights.matrix(`${name}.${modules.down}.weight`, hidden, ffn, { bias, split: 'rows' });

  return (x, rope, batch, kv) => {
    const early = parallel ? mlpNorm.all(x) : null; //                              [rows, hidden]
    x = linearAdd(attend(attentionNorm.all(x), rope, batch, kv), out, x); //        [rows, hidden]
    const y = linear(early ?? mlpNorm.all(x), up, { activation }); //               [rows, ffn]
    return linearAdd(y, down, x); //                                                [rows, hidden]
  };
}
