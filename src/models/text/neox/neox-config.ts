// Converts config.json of GPT-NeoX to the configuration of plain-layer.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';
import { readRope } from '../blocks/rope-config.ts';

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readNeoxConfig(json: Json, architecture: string, file = CONFIG_JSON): PlainConfig {
  const config = readConfig(file, json);
  const hidden = config.count('hidden_size', 6144);
  // Every head has keys of its own; transformers takes neither their number nor a head's size from the file.
  const heads = readHeads(config.with({ ...json, head_dim: null, num_key_value_heads: null }), hidden, {
    heads: 64,
    kvHeads: null,
    dims: null,
  });
  const context = config.count('max_position_embeddings', 2048);
  const rotation = {
    ...json,
    rope_theta: config.real('rotary_emb_base', 10000),
    partial_rotary_factor: config.real('rotary_pct', 0.25),
  };
  const rope = readRope(config.with(rotation), heads.dims, { context, partial: true });
  const bias = config.flag('attention_bias', true);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 50432),
    hidden,
    ffn: config.count('intermediate_size', 24576),
    heads: { ...heads, rotated: rope.dims, order: 'groups' },
    layers: Array.from({ length: config.count('num_hidden_layers', 44) }, () => ({ window: null, rope: 0 })),
    ropes: [rope],
    norm: 'layer',
    eps: config.real('layer_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', false),
    names: { prefix: 'gpt_neox.', embedding: 'embed_in', finalNorm: 'final_layer_norm', head: 'embed_out' },
    // Checkpoints of older versions keep the mask of attention.
    ignored: /\.attention\.(masked_)?bias$/,
    modules: { attention: 'attention', up: 'mlp.dense_h_to_4h', down: 'mlp.dense_4h_to_h' },
    attentionNames: { qkv: 'query_key_value', out: 'dense' },
    fusedQkv: true,
    qkvBias: bias,
    outBias: bias,
    mlpBias: true,
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu'),
    parallel: config.flag('use_parallel_residual', true),
  };
}
