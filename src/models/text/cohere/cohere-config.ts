// Converts config.json of Cohere and Cohere 2 to the configuration of plain-layer.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readLayers } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';
import { readRope } from '../blocks/rope-config.ts';

interface Family {
  /** model_type of config.json. */
  modelType: string;
  examples: string;
  /** Whether most layers are windowed, and only those rotated. */
  windowed: boolean;
  theta: number;
}

export const COHERES: Readonly<Record<string, Family>> = {
  CohereForCausalLM: {
    modelType: 'cohere',
    examples: 'Command R, Aya 23 and Expanse',
    windowed: false,
    theta: 500000,
  },
  Cohere2ForCausalLM: {
    modelType: 'cohere2',
    examples: 'Command R7B, Command A',
    windowed: true,
    theta: 10000,
  },
};

/** Errors: bad_checkpoint; unsupported for settings that plain-layer.ts does not compute. */
export function readCohereConfig(json: Json, architecture: string, file = CONFIG_JSON): PlainConfig {
  const { windowed, theta } = COHERES[architecture]!;
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
  const count = config.count('num_hidden_layers', 40);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 256000),
    hidden,
    ffn: config.count('intermediate_size', 22528),
    heads: { ...heads, pairs: 'adjacent' },
    layers: windowed
      ? readWindows(config, count)
      : Array.from({ length: count }, () => ({ window: null, rope: 0 })),
    ropes: [readRope(config, heads.dims, { context, theta })],
    norm: 'layer-weight',
    eps: config.real('layer_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', true),
    logitScale: config.real('logit_scale', 0.0625),
    qkvBias: bias,
    outBias: bias,
    mlpBias: false,
    modules: MODULES,
    activation: 'silu',
    parallel: true,
  };
}

/** Attention and feed-forward read one norm. */
const MODULES = {
  attention: 'self_attn',
  mlpNorm: null,
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj',
} as const;

/** Layers that see all tokens have no positions. */
function readWindows(config: ConfigReader, count: number): DecoderLayer[] {
  const layers = readLayers(config, count, {
    pattern: config.count('sliding_window_pattern', 4),
    window: config.count('sliding_window', 4096),
    localRope: false,
  });
  return layers.map(({ window }) => ({ window, rope: window === null ? null : 0 }));
}
