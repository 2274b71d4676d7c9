// Converts config.json of Gemma 2 and Gemma 3 to the configuration of gemma.ts. Only this file knows their key names.

import { EngineError } from '../../files/error.ts';
import type { HeadShape } from '../../kernels/batch.ts';
import { readConfig, shown, type ConfigReader, type Json } from '../config-values.ts';
import { readRope } from './rope-config.ts';
import type { RopeConfig } from './rope.ts';

export interface GemmaConfig {
  architecture: string;
  vocabulary: number;
  hidden: number;
  ffn: number;
  heads: HeadShape;
  layers: GemmaLayer[];
  eps: number;
  /** Rope tables; layers name theirs by its index. */
  ropes: RopeConfig[];
  context: number;
  /** Whether the head is the embedding matrix. */
  tied: boolean;
  qkvBias: boolean;
  outBias: boolean;
  /** RMSNorm on each head of queries and keys; its weights multiply by 1 + w, as all norms do. */
  queryNorm: 'none' | 'heads';
  normPlus: 1;
  /** Soft caps of attention's scores and of the logits; null: none. */
  scoreCap: number | null;
  logitCap: number | null;
}

export interface GemmaLayer {
  /** Number of tokens that the layer sees; null: all. */
  window: number | null;
  /** Index of its rope table. */
  rope: number;
}

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

const FILE = 'config.json';

/** Reads the configuration. Errors: bad_checkpoint; unsupported for settings that gemma.ts does not compute. */
export function readGemmaConfig(json: Json, architecture: string): GemmaConfig {
  const family = GEMMAS[architecture]!;
  const config = readConfig(FILE, json);
  config.only({ hidden_activation: ['gelu_pytorch_tanh'], use_bidirectional_attention: [false] });
  const layers = config.count('num_hidden_layers', 26);
  const heads = readHeads(config);
  const window = config.count('sliding_window', 4096);
  const context = config.count('max_position_embeddings', family.context);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size', family.vocabulary),
    hidden: config.count('hidden_size', 2304),
    ffn: config.count('intermediate_size', 9216),
    heads,
    layers: readLayerKinds(json, config, layers, family).map((isWindowed) => ({
      window: isWindowed ? window : null,
      rope: isWindowed && family.localRope ? 1 : 0,
    })),
    eps: config.real('rms_norm_eps', 1e-6),
    ropes: readRopes(json, config, heads.dims, { ...family, context }),
    context,
    tied: config.flag('tie_word_embeddings', true),
    qkvBias: bias,
    outBias: bias,
    queryNorm: family.queryNorm,
    normPlus: 1,
    scoreCap: family.capsScores ? readCap(config, json, 'attn_logit_softcapping', 50) : null,
    logitCap: readCap(config, json, 'final_logit_softcapping', family.logitCap),
  };
}

function readHeads(config: ConfigReader): HeadShape {
  const heads = config.count('num_attention_heads', 8);
  const kvHeads = config.count('num_key_value_heads', 4);
  const dims = config.count('head_dim', 256);
  if (heads % kvHeads !== 0) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: ${heads} num_attention_heads are no multiple of ${kvHeads} num_key_value_heads`,
      { param: 'num_key_value_heads' },
    );
  }
  if (dims % 4 !== 0 || dims > 256) {
    throw new EngineError('unsupported', `${FILE}: head_dim ${dims} must be a multiple of 4 up to 256`, {
      param: 'head_dim',
    });
  }
  return { heads, kvHeads, dims, scale: 1 / Math.sqrt(config.real('query_pre_attn_scalar', 256)) };
}

type CapKey = 'attn_logit_softcapping' | 'final_logit_softcapping';

/** null in config.json switches a cap off. */
function readCap(config: ConfigReader, json: Json, key: CapKey, fallback: number | null): number | null {
  if (json[key] === null || (fallback === null && json[key] === undefined)) return null;
  return config.real(key, fallback ?? undefined);
}

const LAYER_TYPES: readonly unknown[] = ['full_attention', 'sliding_attention'];

/** Whether each layer is windowed. */
function readLayerKinds(json: Json, config: ConfigReader, layers: number, { pattern }: Family): boolean[] {
  const types = json['layer_types'] ?? null;
  if (types === null) {
    const every = config.count('sliding_window_pattern', config.count('_sliding_window_pattern', pattern));
    return Array.from({ length: layers }, (_, i) => (i + 1) % every !== 0);
  }
  if (!Array.isArray(types) || types.length !== layers || !types.every((type) => LAYER_TYPES.includes(type)))
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: layer_types is ${shown(types)}, one of ${LAYER_TYPES.join(' and ')} for each of ${layers} layers is needed`,
      { param: 'layer_types' },
    );
  return types.map((type) => type === 'sliding_attention');
}

/** Reads the rope table of the full layers, and that of the windowed ones if they have their own. */
function readRopes(
  json: Json,
  config: ConfigReader,
  dims: number,
  { context, localRope }: { context: number; localRope: boolean },
): RopeConfig[] {
  if (!localRope) return [readRope(json, dims, { context })];
  const { rope_parameters: stated, rope_scaling: scaling, ...plain } = json;
  const byType: Json = isObject(stated) ? stated : {};
  const full = byType['full_attention'] ?? null;
  const windowed = byType['sliding_attention'] ?? null;
  const theta = config.real('rope_theta', 1e6);
  const localTheta = config.real('rope_local_base_freq', 10000);
  // A rope_scaling in a published config.json applies to the full layers only.
  const whole = full ?? (isObject(scaling) ? scaling : {});
  return [
    readRope({ ...plain, rope_theta: theta, rope_parameters: whole }, dims, { context }),
    readRope({ ...plain, rope_theta: localTheta, rope_parameters: windowed }, dims, { context }),
  ];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
