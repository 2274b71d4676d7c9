// Converts config.json of StarCoder 2 to the configuration of plain-layer.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';
import { readRope } from '../blocks/rope-config.ts';

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readStarcoderConfig(json: Json, architecture: string, file = CONFIG_JSON): PlainConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['gelu_pytorch_tanh'], norm_type: ['layer_norm'] });
  const hidden = config.count('hidden_size', 3072);
  const heads = readHeads(config, hidden, { heads: 24, kvHeads: 2, dims: null });
  const context = config.count('max_position_embeddings', 4096);
  const window = json['sliding_window'] == null ? null : config.count('sliding_window');
  const bias = config.flag('use_bias', true);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 49152),
    hidden,
    ffn: config.count('intermediate_size', 12288),
    heads,
    layers: Array.from({ length: config.count('num_hidden_layers', 30) }, () => ({ window, rope: 0 })),
    ropes: [readRope(config, heads.dims, { context })],
    norm: 'layer',
    eps: config.real('norm_epsilon', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', true),
    qkvBias: bias,
    outBias: bias,
    mlpBias: bias,
    modules: { attention: 'self_attn', up: 'mlp.c_fc', down: 'mlp.c_proj' },
    activation: 'gelu-tanh',
    parallel: false,
  };
}
