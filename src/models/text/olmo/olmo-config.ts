// Converts config.json of OLMo 2 and OLMo 3 to the configuration of olmo.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readLayers, readRopes } from '../blocks/decoder-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type OlmoConfig = DecoderModel & AttentionConfig & MlpConfig;

interface Family {
  /** model_type of config.json. */
  modelType: string;
  examples: string;
  /** Whether three layers of four are windowed, and have a rope table of their own. */
  windowed: boolean;
}

export const OLMOS: Readonly<Record<string, Family>> = {
  Olmo2ForCausalLM: { modelType: 'olmo2', examples: 'OLMo 2 1B to 32B', windowed: false },
  Olmo3ForCausalLM: { modelType: 'olmo3', examples: 'OLMo 3 7B and 32B', windowed: true },
};

/** Errors: bad_checkpoint; unsupported for settings that olmo.ts does not compute. */
export function readOlmoConfig(json: Json, architecture: string, file = CONFIG_JSON): OlmoConfig {
  const { windowed } = OLMOS[architecture]!;
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu', 'swish'] });
  const hidden = config.count('hidden_size', 4096);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: null, dims: null, step: 4 });
  const layers = config.count('num_hidden_layers', 32);
  const context = config.count('max_position_embeddings', 2048);
  const bias = config.flag('attention_bias', false);
  const theta = 500000;
  return {
    architecture,
    vocabulary: config.count('vocab_size', 50304),
    hidden,
    ffn: config.count('intermediate_size', 11008),
    heads,
    layers: windowed
      ? readLayers(config, layers, {
          pattern: 4,
          window: config.count('sliding_window', 4096),
          localRope: true,
        })
      : Array.from({ length: layers }, () => ({ window: null, rope: 0 })),
    ropes: windowed
      ? readRopes(config, heads.dims, { context, theta, localTheta: config.real('rope_theta', theta) })
      : [readRope(config, heads.dims, { context })],
    eps: config.real('rms_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    queryNorm: 'row',
  };
}
