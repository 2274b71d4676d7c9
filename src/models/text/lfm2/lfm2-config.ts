// Converts config.json of LFM2 to the configuration of lfm2.ts. Keys that decoders share are read in decoder-config.ts.

import { shortConvState } from '../../../kernels/short-conv.ts';
import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readKinds } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsFamily } from '../blocks/experts-config.ts';
import type { FeedForwardConfig } from '../blocks/feed-forward.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type Lfm2Config = DecoderModel &
  AttentionConfig &
  FeedForwardConfig & {
    /** Tokens that a convolution spans. */
    taps: number;
    /** Whether the short convolution and its projections have biases. */
    convBias: boolean;
  };

export const LFM2_EXPERTS: ExpertsFamily = {
  block: 'feed_forward',
  projections: { gate: 'w1', up: 'w3', down: 'w2' },
  ffn: 'moe_intermediate_size',
  normed: 'stated',
  scores: 'sigmoid',
  choiceBias: 'expert_bias',
  scaled: true,
  denseLayers: 'first',
  shared: false,
};

export const LFM2S = {
  Lfm2ForCausalLM: { modelType: 'lfm2', examples: 'LFM2 350M to 2.6B' },
  Lfm2MoeForCausalLM: { modelType: 'lfm2_moe', examples: 'LFM2 8B-A1B and 24B-A2B' },
};

/** Errors: bad_checkpoint; unsupported for settings that lfm2.ts does not compute. */
export function readLfm2Config(json: Json, architecture: string, file = CONFIG_JSON): Lfm2Config {
  const isMixture = architecture === 'Lfm2MoeForCausalLM';
  const keys = { first_k_dense_replace: 'num_dense_layers' };
  const config = readConfig(
    isMixture ? { ...file, keys: { ...keys, ...file.keys } } : file,
    isMixture ? withMixture(json) : json,
  );
  const hidden = config.count('hidden_size', 2560);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: 8, dims: null });
  const context = config.count('max_position_embeddings', 128000);
  const taps = config.count('conv_L_cache', 3);
  const slot = shortConvState(taps, hidden);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 65536),
    hidden,
    ffn: isMixture ? config.count('intermediate_size', 7168) : readWidth(config, json),
    heads,
    widest: 3 * hidden,
    taps,
    convBias: config.flag('conv_bias', false),
    layers: readConvs(config).map((isConv) =>
      isConv ? { window: null, rope: null, slot } : { window: null, rope: 0 },
    ),
    ropes: [readRope(config, heads.dims, { context, theta: 1e6 })],
    names: { finalNorm: 'embedding_norm' },
    eps: config.real('norm_eps', 1e-5),
    context,
    tied: config.flag('tie_embedding', config.flag('tie_word_embeddings', true)),
    qkvBias: false,
    outBias: false,
    queryNorm: 'heads',
    mlpModule: 'feed_forward',
    experts: isMixture ? readLfm2Experts(config) : null,
    attentionNames: { out: 'out_proj', qNorm: 'q_layernorm', kNorm: 'k_layernorm' },
    mlpNames: { gate: 'w1', up: 'w3', down: 'w2' },
  };
}

/** Values that the class of mixtures has where they are missing. Source: transformers' Lfm2MoeConfig. */
function withMixture(json: Json): Json {
  const { num_dense_layers: first = 2, norm_topk_prob: normed = true, hidden_size: hidden = 2048 } = json;
  const stated = { ...json, first_k_dense_replace: first, norm_topk_prob: normed, hidden_size: hidden };
  return { num_experts: 32, num_experts_per_tok: 4, moe_intermediate_size: 1792, ...stated };
}

function readLfm2Experts(config: ConfigReader) {
  const { choiceBias, ...unbiased } = LFM2_EXPERTS;
  const hasBias = config.flag('use_expert_bias', true);
  const family = hasBias ? { ...unbiased, choiceBias: choiceBias! } : unbiased;
  return readExperts(config, family, config.count('num_hidden_layers', 32));
}

/** Width of the feed-forward blocks. Source: transformers' Lfm2MLP. */
function readWidth(config: ConfigReader, json: Json): number {
  const stated = config.count('block_ff_dim', config.count('intermediate_size', 12288));
  if (!config.flag('block_auto_adjust_ff_dim', true)) return stated;
  const two = Math.trunc((2 * stated) / 3);
  if (json['block_ffn_dim_multiplier'] === null) return two;
  const multiple = config.count('block_multiple_of', 256);
  return multiple * Math.ceil(Math.trunc(config.real('block_ffn_dim_multiplier', 1) * two) / multiple);
}

/** Whether each layer is a convolution, by layer_types or full_attn_idxs. */
function readConvs(config: ConfigReader): boolean[] {
  const layers = config.count('num_hidden_layers', 32);
  const kinds = readKinds(config, layers, 'conv');
  if (kinds !== null) return kinds;
  const all = Array.from({ length: layers }, (_, i) => i);
  const full = config.list('full_attn_idxs', all);
  return all.map((i) => !full.includes(i));
}
