// config.json of the Llama, Mistral, Qwen and OLMoE families → the one configuration that llama.ts computes by. The only
// place that knows their names.

import { EngineError } from '../files/error.ts';
import type { HeadShape } from '../kernels/batch.ts';
import { readRope } from './rope-config.ts';
import { readConfig } from './config-values.ts';
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

type Json = Readonly<Record<string, unknown>>;

export const LLAMA_ARCHITECTURES = [
  'LlamaForCausalLM',
  'MistralForCausalLM',
  'Qwen2ForCausalLM',
  'Qwen3ForCausalLM',
  'Qwen3MoeForCausalLM',
  'OlmoeForCausalLM',
];

const QUERY_NORMS: Readonly<Record<string, LlamaConfig['queryNorm']>> = {
  Qwen3ForCausalLM: 'heads',
  Qwen3MoeForCausalLM: 'heads',
  OlmoeForCausalLM: 'row',
};

export function readLlamaConfig(config: Json, architecture: string): LlamaConfig {
  const { count } = readConfig('config.json', config);
  const hidden = count('hidden_size');
  const layers = count('num_hidden_layers');
  const heads = count('num_attention_heads');
  const kvHeads = count('num_key_value_heads', heads);
  const dims = count('head_dim', hidden / heads);
  const activation = config['hidden_act'] ?? 'silu';
  if (activation !== 'silu') {
    throw new EngineError(
      'unsupported',
      `config.json: hidden_act ${JSON.stringify(activation)} is not silu, which ${architecture} is computed with`,
    );
  }
  if (typeof config['clip_qkv'] === 'number') {
    throw new EngineError(
      'unsupported',
      `config.json: clip_qkv ${config['clip_qkv']} is not computed; choose a model without it`,
    );
  }
  if (heads % kvHeads !== 0) {
    throw new EngineError(
      'bad_checkpoint',
      `config.json: ${heads} num_attention_heads are no multiple of ${kvHeads} num_key_value_heads`,
    );
  }
  if (dims % 4 !== 0 || dims > 256) {
    throw new EngineError('unsupported', `config.json: head_dim ${dims} must be a multiple of 4 up to 256`);
  }
  const rope = readRope(config, dims);
  const isQwen2 = architecture === 'Qwen2ForCausalLM';
  const bias = config['attention_bias'] === true;
  return {
    architecture,
    vocabulary: count('vocab_size'),
    hidden,
    ffn: count('intermediate_size'),
    heads: { heads, kvHeads, dims },
    windows: readWindows(config, architecture, layers),
    eps: typeof config['rms_norm_eps'] === 'number' ? config['rms_norm_eps'] : 1e-6,
    rope,
    context: scaledContext(rope, count('max_position_embeddings', 2048)),
    tied: config['tie_word_embeddings'] === true,
    qkvBias: isQwen2 || bias,
    outBias: !isQwen2 && bias,
    mlpBias: config['mlp_bias'] === true,
    queryNorm: QUERY_NORMS[architecture] ?? 'none',
    experts: readExperts(config, architecture, layers),
  };
}

/** These types stretch the trained context, and what is stated beside may be either, or in between as in Qwen 3; the others state the stretched one. */
function scaledContext(rope: RopeConfig, stated: number): number {
  const stretches = rope.type === 'linear' || rope.type === 'dynamic' || rope.type === 'yarn';
  return stretches ? Math.max(stated, Math.floor(rope.originalContext * rope.factor)) : stated;
}

const LAYER_TYPES: readonly unknown[] = ['full_attention', 'sliding_attention'];

/** Mistral windows every layer; Qwen, if told to, those from max_window_layers on, or all with experts; layer_types overrules. */
function readWindows(config: Json, architecture: string, layers: number): (number | null)[] {
  const size = typeof config['sliding_window'] === 'number' ? config['sliding_window'] : null;
  const types = config['layer_types'];
  const isQwen = architecture.startsWith('Qwen');
  const applies = isQwen ? config['use_sliding_window'] === true : architecture === 'MistralForCausalLM';
  const unknown = Array.isArray(types) ? types.find((type) => !LAYER_TYPES.includes(type)) : undefined;
  if (unknown !== undefined) {
    throw new EngineError(
      'unsupported',
      `config.json: layer type ${JSON.stringify(unknown)} is unknown; known are ${LAYER_TYPES.join(', ')}`,
    );
  }
  const some = isQwen && architecture !== 'Qwen3MoeForCausalLM';
  const first = some ? readConfig('config.json', config).count('max_window_layers', 28) : 0;
  return Array.from({ length: layers }, (_, i) => {
    if (Array.isArray(types)) return types[i] === 'sliding_attention' ? size : null;
    return applies && i >= first ? size : null;
  });
}
