// Converts config.json of Cohere 2 to the configuration of cohere.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readLayers } from '../blocks/decoder-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type CohereConfig = DecoderModel & AttentionConfig & MlpConfig;

/** Errors: bad_checkpoint; unsupported for settings that cohere.ts does not compute. */
export function readCohereConfig(json: Json, architecture: string, file = CONFIG_JSON): CohereConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu', 'swish'], use_qk_norm: [false] });
  const hidden = config.count('hidden_size', 8192);
  // transformers takes no head_dim from the file.
  const heads = readHeads(config.with({ ...json, head_dim: null }), hidden, {
    heads: 64,
    kvHeads: null,
    dims: null,
  });
  const context = config.count('max_position_embeddings', 8192);
  const bias = config.flag('attention_bias', false);
  const layers = readLayers(config, config.count('num_hidden_layers', 40), {
    pattern: config.count('sliding_window_pattern', 4),
    window: config.count('sliding_window', 4096),
    localRope: false,
  });
  return {
    architecture,
    vocabulary: config.count('vocab_size', 256000),
    hidden,
    ffn: config.count('intermediate_size', 22528),
    heads: { ...heads, pairs: 'adjacent' },
    // Layers that see all tokens have no positions.
    layers: layers.map(({ window }) => ({ window, rope: window === null ? null : 0 })),
    ropes: [readRope(config, heads.dims, { context })],
    norm: 'layer-weight',
    eps: config.real('layer_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', true),
    logitScale: config.real('logit_scale', 0.0625),
    qkvBias: bias,
    outBias: bias,
  };
}
