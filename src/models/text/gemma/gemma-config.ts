// Converts config.json of Gemma 2 and Gemma 3 to the configuration of sandwich-norm.ts. Keys that decoders
// share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readLayers, readRopes } from '../blocks/decoder-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { SandwichConfig } from '../blocks/sandwich-norm.ts';

const NORMS = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
] as const;

interface Family {
  /** model_type of config.json, and of a text_config. */
  modelType: string;
  examples: string;
  vocabulary: number;
  context: number;
  /** One layer in every `pattern` is full, the others are windowed, if layer_types is missing. */
  pattern: number;
  queryNorm: 'none' | 'heads';
  /** Whether windowed layers have a rope table of their own. */
  localRope: boolean;
  /** Whether attn_logit_softcapping applies to the attention scores. */
  capsScores: boolean;
  logitCap: number | null;
}

/** Families and the defaults of transformers' configuration classes for missing keys. */
export const GEMMAS: Readonly<Record<string, Family>> = {
  Gemma2ForCausalLM: {
    modelType: 'gemma2',
    examples: 'Gemma 2 2B to 27B',
    vocabulary: 256000,
    context: 8192,
    pattern: 2,
    queryNorm: 'none',
    localRope: false,
    capsScores: true,
    logitCap: 30,
  },
  Gemma3ForCausalLM: {
    modelType: 'gemma3_text',
    examples: 'Gemma 3 270M and 1B, text of 4B to 27B, MedGemma',
    vocabulary: 262208,
    context: 131072,
    pattern: 6,
    queryNorm: 'heads',
    localRope: true,
    capsScores: false,
    logitCap: null,
  },
};

/** Reads the configuration. Errors: bad_checkpoint; unsupported for settings that sandwich-norm.ts does not compute. */
export function readGemmaConfig(json: Json, architecture: string, file = CONFIG_JSON): SandwichConfig {
  const family = GEMMAS[architecture]!;
  const config = readConfig(file, json);
  config.only({ hidden_activation: ['gelu_pytorch_tanh'] });
  const bidirectional = family.localRope && config.flag('use_bidirectional_attention', false);
  if (!bidirectional) config.only({ use_bidirectional_attention: [false] });
  const window = config.count('sliding_window', 4096);
  const hidden = config.count('hidden_size', 2304);
  const heads = {
    ...readHeads(config, hidden, { heads: 8, kvHeads: 4, dims: 256 }),
    scale: 1 / Math.sqrt(config.real('query_pre_attn_scalar', 256)),
  };
  const context = config.count('max_position_embeddings', family.context);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    bidirectional,
    vocabulary: config.count('vocab_size', family.vocabulary),
    hidden,
    ffn: config.count('intermediate_size', 9216),
    heads,
    layers: readLayers(config, config.count('num_hidden_layers', 26), {
      pattern: config.count(
        'sliding_window_pattern',
        config.count('_sliding_window_pattern', family.pattern),
      ),
      // Of an encoder half of the window lies to each side of a token.
      window: bidirectional ? Math.floor(window / 2) + 1 : window,
      localRope: family.localRope,
    }),
    eps: config.real('rms_norm_eps', 1e-6),
    ropes: family.localRope
      ? readRopes(config, heads.dims, {
          context,
          theta: 1e6,
          localTheta: config.real('rope_local_base_freq', 10000),
        })
      : [readRope(config, heads.dims, { context })],
    context,
    tied: config.flag('tie_word_embeddings', true),
    qkvBias: bias,
    outBias: bias,
    queryNorm: family.queryNorm,
    normNames: NORMS,
    normPlus: 1,
    activation: 'gelu-tanh',
    embeddingScale: Math.sqrt(hidden),
    scoreCap: family.capsScores ? readCap(config, json, 'attn_logit_softcapping', 50) : null,
    logitCap: readCap(config, json, 'final_logit_softcapping', family.logitCap),
  };
}

type CapKey = 'attn_logit_softcapping' | 'final_logit_softcapping';

/** null in config.json switches a cap off. */
function readCap(config: ConfigReader, json: Json, key: CapKey, fallback: number | null): number | null {
  if (json[key] === null || (fallback === null && json[key] === undefined)) return null;
  return config.real(key, fallback ?? undefined);
}
