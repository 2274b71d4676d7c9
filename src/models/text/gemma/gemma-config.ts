// Converts config.json of Gemma 1 to 3 and VaultGemma to the configuration of sandwich-norm.ts. Keys that decoders
// share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readLayers, readRopes } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { SandwichConfig } from '../blocks/sandwich-norm.ts';

const NORMS = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
] as const;

/** Values where a config.json leaves them out. */
interface Sizes {
  hidden: number;
  ffn: number;
  layers: number;
  heads: number;
  kvHeads: number;
}

interface Family {
  /** model_type of config.json, and of a text_config. */
  modelType: string;
  examples: string;
  sizes: Sizes;
  vocabulary: number;
  context: number;
  /** Norms before and behind attention, and before and behind the other block. */
  norms: SandwichConfig['normNames'];
  /** One layer in every `pattern` is full, the others are windowed, if layer_types is missing; null: all are full, and scores scale by heads' sizes. */
  pattern: number | null;
  queryNorm: 'none' | 'heads';
  /** Whether windowed layers have a rope table of their own. */
  localRope: boolean;
  /** Whether attn_logit_softcapping applies to the attention scores. */
  capsScores: boolean;
  logitCap: number | null;
}

const SIZES: Sizes = { hidden: 2304, ffn: 9216, layers: 26, heads: 8, kvHeads: 4 };

const GEMMA2: Family = {
  modelType: 'gemma2',
  examples: 'Gemma 2 2B to 27B',
  sizes: SIZES,
  vocabulary: 256000,
  context: 8192,
  norms: NORMS,
  pattern: 2,
  queryNorm: 'none',
  localRope: false,
  capsScores: true,
  logitCap: 30,
};

/** Families and the defaults of transformers' configuration classes for missing keys. */
export const GEMMAS: Readonly<Record<string, Family>> = {
  GemmaForCausalLM: {
    ...GEMMA2,
    modelType: 'gemma',
    examples: 'Gemma 2B and 7B, CodeGemma',
    sizes: { hidden: 3072, ffn: 24576, layers: 28, heads: 16, kvHeads: 16 },
    norms: ['input_layernorm', null, 'post_attention_layernorm', null],
    pattern: null,
    capsScores: false,
    logitCap: null,
  },
  Gemma2ForCausalLM: GEMMA2,
  Gemma3ForCausalLM: {
    modelType: 'gemma3_text',
    examples: 'Gemma 3 270M and 1B, text of 4B to 27B, MedGemma',
    sizes: SIZES,
    norms: NORMS,
    vocabulary: 262208,
    context: 131072,
    pattern: 6,
    queryNorm: 'heads',
    localRope: true,
    capsScores: false,
    logitCap: null,
  },
  VaultGemmaForCausalLM: {
    ...GEMMA2,
    modelType: 'vaultgemma',
    examples: 'VaultGemma 1B',
    norms: ['input_layernorm', null, 'pre_feedforward_layernorm', null],
  },
};

/** Reads the configuration. Errors: bad_checkpoint; unsupported for settings that sandwich-norm.ts does not compute. */
export function readGemmaConfig(json: Json, architecture: string, file = CONFIG_JSON): SandwichConfig {
  const family = GEMMAS[architecture]!;
  const { pattern, sizes } = family;
  const config = readConfig(file, json);
  config.only({ hidden_activation: ['gelu_pytorch_tanh'] });
  // The first files of Gemma say gelu and mean its approximation.
  if (pattern === null) config.only({ hidden_act: ['gelu_pytorch_tanh', 'gelu'] });
  const bidirectional = family.localRope && config.flag('use_bidirectional_attention', false);
  if (!bidirectional) config.only({ use_bidirectional_attention: [false] });
  const hidden = config.count('hidden_size', sizes.hidden);
  const ofHeads = readHeads(config, hidden, { ...sizes, dims: 256 });
  const scalar = pattern === null ? ofHeads.dims : config.real('query_pre_attn_scalar', 256);
  const heads = { ...ofHeads, scale: 1 / Math.sqrt(scalar) };
  const context = config.count('max_position_embeddings', family.context);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    bidirectional,
    vocabulary: config.count('vocab_size', family.vocabulary),
    hidden,
    ffn: config.count('intermediate_size', sizes.ffn),
    heads,
    layers: readFamilyLayers(config, family, bidirectional),
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
    normNames: family.norms,
    normPlus: 1,
    activation: 'gelu-tanh',
    embeddingScale: Math.sqrt(hidden),
    scoreCap: family.capsScores ? readCap(config, json, 'attn_logit_softcapping', 50) : null,
    logitCap: readCap(config, json, 'final_logit_softcapping', family.logitCap),
  };
}

function readFamilyLayers(
  config: ConfigReader,
  { pattern, sizes, localRope }: Family,
  bidirectional: boolean,
): DecoderLayer[] {
  const layers = config.count('num_hidden_layers', sizes.layers);
  if (pattern === null) return Array.from({ length: layers }, () => ({ window: null, rope: 0 }));
  const window = config.count('sliding_window', 4096);
  return readLayers(config, layers, {
    pattern: config.count('sliding_window_pattern', config.count('_sliding_window_pattern', pattern)),
    // Of an encoder half of the window lies to each side of a token.
    window: bidirectional ? Math.floor(window / 2) + 1 : window,
    localRope,
  });
}

type CapKey = 'attn_logit_softcapping' | 'final_logit_softcapping';

/** null in config.json switches a cap off. */
function readCap(config: ConfigReader, json: Json, key: CapKey, fallback: number | null): number | null {
  if (json[key] === null || (fallback === null && json[key] === undefined)) return null;
  return config.real(key, fallback ?? undefined);
}
