// config.json of the Llama, Mistral, Qwen and OLMoE families → the one configuration that llama.ts computes by. The only
// place that knows their names.

import { EngineError } from '../../files/error.ts';
import type { HeadShape } from '../../kernels/batch.ts';
import { readRope } from './rope-config.ts';
import { readConfig, shown, type ConfigReader, type Json } from '../config-values.ts';
import { readExperts, type ExpertsConfig } from './experts-config.ts';
import type { RopeConfig } from './rope.ts';

export interface LlamaConfig {
  architecture: string;
  vocabulary: number;
  hidden: number;
  ffn: number;
  heads: HeadShape;
  /** Tokens each layer looks back on; null: all. Its length is the number of layers. */
  windows: (number | null)[];
  eps: number;
  rope: RopeConfig;
  /** Tokens the model was made for, scaling included. */
  context: number;
  /** The head is the embedding. */
  tied: boolean;
  qkvBias: boolean;
  outBias: boolean;
  mlpBias: boolean;
  /** RMSNorm on queries and keys: head by head, or all heads of a row together. */
  queryNorm: 'none' | 'heads' | 'row';
  /** null: every layer has one feed-forward block for all tokens. */
  experts: ExpertsConfig | null;
}

/** By what the classes differ. Values left out of a config.json are those of transformers' configuration classes. */
interface Family {
  /** model_type of config.json. */
  modelType: string;
  /** Published models. */
  examples: string;
  /** Key and value heads where nothing is stated; null: as many as heads. */
  kvHeads: number | null;
  /** Dimensions of a head where none are stated; null: hidden_size / num_attention_heads. */
  dims: number | null;
  eps: number;
  context: number;
  /** Which projections of attention have a bias; `stated`: all, if attention_bias says so. */
  bias: 'none' | 'qkv' | 'stated';
  /** Whether mlp_bias is read. */
  mlpBias: boolean;
  queryNorm: LlamaConfig['queryNorm'];
  /** Which layers have the window sliding_window: none, all of them, or those that layer_types or max_window_layers name. */
  windows: 'none' | 'all' | 'some';
  /** Whether the window applies only if use_sliding_window is set. */
  windowSwitch: boolean;
}

const LLAMA: Family = {
  modelType: 'llama',
  examples: 'Llama 2 and 3.x, TinyLlama, SmolLM2, DeepSeek-R1-Distill-Llama',
  kvHeads: null,
  dims: null,
  eps: 1e-6,
  context: 2048,
  bias: 'stated',
  mlpBias: true,
  queryNorm: 'none',
  windows: 'none',
  windowSwitch: false,
};
const QWEN2: Family = {
  ...LLAMA,
  modelType: 'qwen2',
  examples: 'Qwen2, Qwen2.5, DeepSeek-R1-Distill-Qwen',
  kvHeads: 32,
  context: 32768,
  bias: 'qkv',
  mlpBias: false,
  windows: 'some',
  windowSwitch: true,
};
const QWEN3: Family = {
  ...QWEN2,
  modelType: 'qwen3',
  examples: 'Qwen3 0.6B to 32B',
  dims: 128,
  bias: 'stated',
  queryNorm: 'heads',
};

const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['LlamaForCausalLM', LLAMA],
  [
    'MistralForCausalLM',
    {
      ...LLAMA,
      modelType: 'mistral',
      examples: 'Mistral 7B, Ministral',
      kvHeads: 8,
      context: 131072,
      bias: 'none',
      mlpBias: false,
      windows: 'all',
    },
  ],
  ['Qwen2ForCausalLM', QWEN2],
  ['Qwen3ForCausalLM', QWEN3],
  [
    'Qwen3MoeForCausalLM',
    {
      ...QWEN3,
      modelType: 'qwen3_moe',
      examples: 'Qwen3-30B-A3B, Qwen3-235B-A22B',
      kvHeads: 4,
      dims: null,
      windows: 'all',
    },
  ],
  [
    'OlmoeForCausalLM',
    {
      ...LLAMA,
      modelType: 'olmoe',
      examples: 'OLMoE',
      eps: 1e-5,
      context: 4096,
      mlpBias: false,
      queryNorm: 'row',
    },
  ],
]);

export const LLAMA_ARCHITECTURES: readonly string[] = [...FAMILIES.keys()];

/** Class → published models. */
export const LLAMA_EXAMPLES: ReadonlyMap<string, string> = new Map(
  [...FAMILIES].map(([architecture, { examples }]) => [architecture, examples]),
);

/** model_type → the class of a language model, for a config.json without `architectures`. */
export const LLAMA_MODEL_TYPES: ReadonlyMap<string, string> = new Map(
  [...FAMILIES].map(([architecture, { modelType }]) => [modelType, architecture]),
);

/** Reads the configuration. Throws unsupported for an architecture that is not in LLAMA_ARCHITECTURES. */
export function readLlamaConfig(json: Json, architecture: string): LlamaConfig {
  const family = FAMILIES.get(architecture);
  if (family === undefined)
    throw new EngineError('unsupported', `${architecture} is not a class that is built`);
  const config = readConfig(FILE, json);
  refuseOtherSums(json, architecture);
  const layers = config.count('num_hidden_layers');
  const heads = readHeads(config, json, family);
  const rope = readRope(json, heads.dims, family.context);
  const bias = family.bias === 'stated' && config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden: config.count('hidden_size'),
    ffn: config.count('intermediate_size'),
    heads,
    windows: readWindows(config, json, family, layers),
    eps: config.real('rms_norm_eps', family.eps),
    rope,
    context: scaledContext(rope, config.count('max_position_embeddings', family.context)),
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: family.bias === 'qkv' || bias,
    outBias: bias,
    mlpBias: family.mlpBias && config.flag('mlp_bias', false),
    queryNorm: family.queryNorm,
    experts: readExperts(json, architecture, layers),
  };
}

const FILE = 'config.json';

/** Throws for settings that llama.ts does not compute. */
function refuseOtherSums(json: Json, architecture: string): void {
  const activation = json['hidden_act'] ?? 'silu';
  if (activation !== 'silu' && activation !== 'swish') {
    throw new EngineError(
      'unsupported',
      `${FILE}: hidden_act ${shown(activation)} is not silu, which ${architecture} is computed with`,
      { param: 'hidden_act' },
    );
  }
  if (json['clip_qkv'] != null) {
    throw new EngineError(
      'unsupported',
      `${FILE}: clip_qkv ${shown(json['clip_qkv'])} is not computed; choose a model without it`,
      { param: 'clip_qkv' },
    );
  }
}

function readHeads(config: ConfigReader, json: Json, family: Family): HeadShape {
  const hidden = config.count('hidden_size');
  const heads = config.count('num_attention_heads');
  // null means as many as heads; for a missing key transformers has a different default.
  const isLeftOut = !Object.hasOwn(json, 'num_key_value_heads');
  const kvHeads = config.count('num_key_value_heads', (isLeftOut ? family.kvHeads : null) ?? heads);
  if (json['head_dim'] == null && family.dims === null && hidden % heads !== 0) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: hidden_size ${hidden} is no multiple of ${heads} num_attention_heads, and there is no head_dim`,
      { param: 'num_attention_heads' },
    );
  }
  const dims = config.count('head_dim', family.dims ?? hidden / heads);
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
  return { heads, kvHeads, dims };
}

/**
 * Returns the context after scaling. These rope types extend the trained context, and the stated context may be the trained one,
 * the extended one or, as in Qwen 3, one in between; other types state the extended context.
 */
function scaledContext(rope: RopeConfig, stated: number): number {
  const stretches = rope.type === 'linear' || rope.type === 'dynamic' || rope.type === 'yarn';
  return stretches ? Math.max(stated, Math.floor(rope.originalContext * rope.factor)) : stated;
}

/** Default of sliding_window. */
const WINDOW = 4096;

/** Number of tokens that each layer sees. Source: transformers' configuration and modeling files of each class. */
function readWindows(config: ConfigReader, json: Json, family: Family, layers: number): (number | null)[] {
  const types = readLayerTypes(json, layers);
  if (family.windows === 'none') return Array<null>(layers).fill(null);
  const stated = json['sliding_window'];
  // A value of a wrong type is refused even if the window is switched off.
  if (stated != null && typeof stated !== 'number') config.count('sliding_window');
  const isOn = !family.windowSwitch || config.flag('use_sliding_window', false);
  const size = isOn && stated !== null ? config.count('sliding_window', WINDOW) : null;
  // A Mistral config with layer_types is read as Ministral's, whose layers differ.
  const typed = family.windows === 'some' || !family.windowSwitch ? types : null;
  if (typed !== null) {
    if (size === null && typed.includes('sliding_attention')) {
      throw new EngineError(
        'bad_checkpoint',
        `${FILE}: layer_types has sliding_attention, and ${isOn ? 'sliding_window is null' : 'use_sliding_window is not true'}: take the values that the model was published with`,
        { param: 'layer_types' },
      );
    }
    return typed.map((type) => (type === 'sliding_attention' ? size : null));
  }
  const first = family.windows === 'some' ? config.count('max_window_layers', 28) : 0;
  return Array.from({ length: layers }, (_, i) => (i >= first ? size : null));
}

const LAYER_TYPES: readonly unknown[] = ['full_attention', 'sliding_attention'];

/** Returns null if there are none. */
function readLayerTypes(json: Json, layers: number): unknown[] | null {
  const types = json['layer_types'] ?? null;
  if (types === null) return null;
  if (!Array.isArray(types) || types.length !== layers) {
    throw new EngineError(
      'bad_checkpoint',
      `${FILE}: layer_types is ${shown(types)}, one for each of ${layers} layers is needed`,
      { param: 'layer_types' },
    );
  }
  const unknown = types.find((type) => !LAYER_TYPES.includes(type));
  if (unknown === undefined) return types;
  throw new EngineError(
    'unsupported',
    `${FILE}: layer type ${shown(unknown)} is unknown; known are ${LAYER_TYPES.join(', ')}`,
    { param: 'layer_types' },
  );
}
