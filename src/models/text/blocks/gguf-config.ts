// The metadata of GGUF files as keys of config.json: what all decoders share. The keys are those of llama.cpp, which writes such files.

import { MOST_LABELS } from './outputs.ts';
import { badCheckpoint } from '../../../files/error.ts';
import type { GgufModel } from '../../../files/gguf/model.ts';

/** Limit on the layers whose tensors are looked at one by one: a file may claim any number. */
export const MOST_LAYERS = 4096;

type Json = Record<string, unknown>;

/** Keys that change what a decoder computes, with the value at which they do nothing; null: they may only be absent. */
const NEUTRAL: Readonly<Record<string, number | null>> = {
  logit_scale: 1,
  embedding_scale: 1,
  residual_scale: 1,
  attn_logit_softcapping: 0,
  final_logit_softcapping: 0,
  'attention.scale': null,
  'attention.output_scale': 1,
  'attention.max_alibi_bias': 0,
  'attention.temperature_length': null,
  'attention.temperature_scale': 0,
  expert_shared_count: 0,
  expert_group_count: 0,
  use_parallel_residual: null,
};

/** Metadata keys below the architecture, by the keys of config.json that are made of them. */
const METADATA_KEYS: Readonly<Record<string, string>> = {
  hidden_size: 'embedding_length',
  intermediate_size: 'feed_forward_length',
  num_hidden_layers: 'block_count',
  num_attention_heads: 'attention.head_count',
  num_key_value_heads: 'attention.head_count_kv',
  head_dim: 'attention.key_length',
  rms_norm_eps: 'attention.layer_norm_rms_epsilon',
  layer_norm_eps: 'attention.layer_norm_epsilon',
  norm_epsilon: 'attention.layer_norm_epsilon',
  norm_eps: 'attention.layer_norm_rms_epsilon',
  max_position_embeddings: 'context_length',
  sliding_window: 'attention.sliding_window',
  clip_qkv: 'attention.clamp_kqv',
  attn_logit_softcapping: 'attn_logit_softcapping',
  final_logit_softcapping: 'final_logit_softcapping',
  logit_scale: 'logit_scale',
  logits_scaling: 'logit_scale',
  embedding_multiplier: 'embedding_scale',
  residual_multiplier: 'residual_scale',
  attention_multiplier: 'attention.scale',
  num_experts: 'expert_count',
  num_local_experts: 'expert_count',
  num_experts_per_tok: 'expert_used_count',
  norm_topk_prob: 'expert_weights_norm',
  moe_intermediate_size: 'expert_feed_forward_length',
  shared_expert_intermediate_size: 'expert_shared_feed_forward_length',
  rope_theta: 'rope.freq_base',
  partial_rotary_factor: 'rope.dimension_count',
  'rope_scaling.rope_type': 'rope.scaling.type',
  'rope_scaling.factor': 'rope.scaling.factor',
  'rope_scaling.original_max_position_embeddings': 'rope.scaling.original_context_length',
  'rope_scaling.attention_factor': 'rope.scaling.attn_factor',
  'rope_scaling.beta_fast': 'rope.scaling.yarn_beta_fast',
  'rope_scaling.beta_slow': 'rope.scaling.yarn_beta_slow',
};

/** The names that a GGUF file of the architecture has for keys of config.json. `own`: those that other architectures do not share. */
export function metadataKeys(
  architecture: string,
  own: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const named = Object.entries(METADATA_KEYS).map(([key, name]) => [key, `${architecture}.${name}`] as const);
  return Object.fromEntries([
    ...named,
    ['vocab_size', 'the number of rows of token_embd.weight'],
    ['rope_scaling.short_factor', SHORT],
    ['rope_scaling.long_factor', LONG],
    ...Object.entries(own),
  ]);
}

export interface DecoderKeys {
  /** Keys of NEUTRAL that the architecture reads by itself. */
  reads?: readonly string[];
  /** Base of the rotation where the file does not say. */
  theta?: number;
  /** Whether the norms are LayerNorms. */
  layerNorm?: boolean;
  /** Keys and values are made of latents, whose lengths are stated instead. */
  latents?: boolean;
  /** Key heads and the width of feed-forward blocks, for an architecture whose layers differ in them. */
  kvHeads?: number;
  feedForward?: number;
}

/** The sizes, heads, rotation and norms of a decoder. Throws bad_checkpoint and unsupported by key. */
export async function decoderConfig(
  model: GgufModel,
  { reads = [], theta = 10000, layerNorm = false, latents = false, kvHeads, feedForward }: DecoderKeys = {},
): Promise<Json> {
  const { keys, architecture, tensors } = model;
  const own = (key: string): string => `${architecture}.${key}`;
  refuseUnreadKeys(model, reads);
  const hidden = keys.count(own('embedding_length'));
  const heads = perLayer(model, 'attention.head_count');
  const isKvStated = keys.get(own('attention.head_count_kv')) !== undefined;
  const dims = keys.count(own('attention.key_length'), heads > 0 ? Math.floor(hidden / heads) : 0);
  if (!latents && keys.count(own('attention.value_length'), dims) !== dims)
    throw keys.unsupported(
      own('attention.value_length'),
      `choose a model whose values have ${dims} dimensions, as many as its keys`,
    );
  const window = keys.count(own('attention.sliding_window'), 0);
  const clamp = keys.real(own('attention.clamp_kqv'), 0);
  return {
    vocab_size: rowsOf(model, 'token_embd.weight'),
    hidden_size: hidden,
    ...(hasWidth(model) && { intermediate_size: feedForward ?? perLayer(model, 'feed_forward_length') }),
    num_hidden_layers: keys.count(own('block_count')),
    num_attention_heads: heads,
    num_key_value_heads: kvHeads ?? (isKvStated ? perLayer(model, 'attention.head_count_kv') : heads),
    head_dim: dims,
    rms_norm_eps: keys.real(own(`attention.layer_norm_${layerNorm ? '' : 'rms_'}epsilon`)),
    max_position_embeddings: keys.count(own('context_length')),
    tie_word_embeddings: !tensors.has('output.weight'),
    sliding_window: window === 0 ? null : window,
    ...(clamp !== 0 && { clip_qkv: clamp }),
    ...(await ropeConfig(model, dims, theta)),
  };
}

function refuseUnreadKeys({ keys, architecture }: GgufModel, reads: readonly string[]): void {
  for (const [name, neutral] of Object.entries(NEUTRAL)) {
    if (reads.includes(name)) continue;
    const key = `${architecture}.${name}`;
    const value = keys.get(key);
    if (value !== undefined && value !== neutral && value !== false)
      throw keys.unsupported(key, 'choose a model without it');
  }
}

/** Files of models in which each layer has experts may state their width only. */
function hasWidth({ keys, architecture }: GgufModel): boolean {
  const stated = (key: string): boolean => keys.get(`${architecture}.${key}`) !== undefined;
  return stated('feed_forward_length') || !stated('expert_feed_forward_length');
}

/** A count that may be stated for each layer, and has to be the same for all of them; layers that have none state 0. */
function perLayer({ keys, architecture }: GgufModel, name: string): number {
  const key = `${architecture}.${name}`;
  if (typeof keys.get(key) !== 'object') return keys.count(key);
  const each = new Set(Array.from(keys.numbers(key)!).filter((count) => count !== 0));
  if (each.size !== 1) throw keys.unsupported(key, 'choose a model whose layers are all of one size');
  return [...each][0]!;
}

/** layer_types by the key that lists the windowed layers; none where the file has no such key. */
export function layerTypes({ keys }: GgufModel, key: string): Json {
  const pattern = keys.get(key);
  if (pattern === undefined) return {};
  if (!Array.isArray(pattern) || !pattern.every((one) => typeof one === 'boolean'))
    throw keys.wrong(key, 'a list of true and false');
  return {
    layer_types: pattern.map((isWindowed) => (isWindowed ? 'sliding_attention' : 'full_attention')),
  };
}

/** Rows of a tensor; 0 where it is missing, which the check of the tensors then says. */
export function rowsOf({ tensors, keys }: GgufModel, name: string): number {
  const tensor = tensors.get(name);
  if (tensor) return tensor.shape[0]!;
  throw badCheckpoint(
    `${keys.file}: tensor ${name} is missing: fetch the file again, or convert the model again`,
    name,
  );
}

/** Names of the rows of a head for texts, as id2label of config.json has them. */
export function ggufLabels(model: GgufModel): Record<string, string> {
  const { keys, architecture } = model;
  const names = keys.texts(`${architecture}.classifier.output_labels`) ?? [];
  const rows = Math.min(rowsOf(model, 'cls.output.weight'), MOST_LABELS);
  return Object.fromEntries(Array.from({ length: rows }, (_, at) => [at, names[at] ?? `LABEL_${at}`]));
}

/** Types of rope.scaling.type; a file without one, or with `none`, may still have factors as a tensor. */
const SCALINGS = ['none', 'linear', 'yarn', 'longrope'];

const [SHORT, LONG] = ['rope_factors_short.weight', 'rope_factors_long.weight'];

async function ropeConfig(model: GgufModel, dims: number, theta: number): Promise<Json> {
  const { keys, architecture, tensors } = model;
  const own = (key: string): string => `${architecture}.rope.${key}`;
  const rotated = keys.count(own('dimension_count'), dims);
  const plain = {
    rope_theta: keys.real(own('freq_base'), theta),
    ...(rotated !== dims && { partial_rotary_factor: rotated / dims }),
  };
  // Files of Phi-3 have the factors and no type.
  const type = keys.text(own('scaling.type'), tensors.has(LONG) ? 'longrope' : 'none');
  if (!SCALINGS.includes(type))
    throw keys.unsupported(own('scaling.type'), `choose a model that has ${SCALINGS.join(' or ')}`);
  const original = keys.count(own('scaling.original_context_length'), 0);
  const stretch = {
    rope_type: type,
    ...(keys.get(own('scaling.factor')) !== undefined && { factor: keys.real(own('scaling.factor')) }),
    ...(original > 0 && { original_max_position_embeddings: original }),
  };
  if (type === 'linear') return { ...plain, rope_scaling: stretch };
  if (type === 'yarn') return { ...plain, rope_scaling: { ...stretch, ...yarn(model) } };
  const isLong = type === 'longrope';
  const [short, long] = isLong ? [SHORT, LONG] : ['rope_freqs.weight', 'rope_freqs.weight'];
  if (!isLong && !tensors.has(short)) return plain;
  // Frequencies that were divided one by one, as Llama 3 does it: both lists of longrope, without its factor of attention.
  const scaling = {
    ...stretch,
    rope_type: 'longrope',
    short_factor: Array.from(await model.floats(short)),
    long_factor: Array.from(await model.floats(long)),
    ...(isLong ? attention(model) : { factor: 1, attention_factor: 1 }),
  };
  return { ...plain, rope_scaling: scaling };
}

/** The factor of attention where the file states it. */
function attention({ keys, architecture }: GgufModel): Json {
  const key = `${architecture}.rope.scaling.attn_factor`;
  return keys.get(key) === undefined ? {} : { attention_factor: keys.real(key) };
}

function yarn({ keys, architecture }: GgufModel): Json {
  const own = (key: string): string => `${architecture}.rope.scaling.yarn_${key}`;
  if (keys.real(own('ext_factor'), 1) !== 1)
    throw keys.unsupported(own('ext_factor'), 'choose a model that has 1');
  const stated = (key: string, name: string): Json =>
    keys.get(own(key)) === undefined ? {} : { [name]: keys.real(own(key)) };
  const multiplier = keys.real(own('log_multiplier'), 0);
  return {
    ...stated('attn_factor', 'attention_factor'),
    ...(multiplier !== 0 && { mscale: 1, mscale_all_dim: multiplier }),
    ...stated('beta_fast', 'beta_fast'),
    ...stated('beta_slow', 'beta_slow'),
  };
}

/** Layers of the model without those that predict further tokens. */
export function trunkLayers({ keys, architecture }: GgufModel): number {
  const all = keys.count(`${architecture}.block_count`);
  return Math.max(1, all - keys.count(`${architecture}.nextn_predict_layers`, 0));
}
