// Converts config.json of DeepSeek V2 and V3 and of those built like them to the configuration of deepseek.ts. Keys that decoders share are read in
// decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { scaledContext } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsFamily } from '../blocks/experts-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { latentHeads, type LatentAttentionConfig } from '../blocks/latent-attention.ts';
import { readRope, ropeScaling } from '../blocks/rope-config.ts';

export type DeepseekConfig = DecoderModel & MlpConfig & LatentAttentionConfig;

interface Family {
  /** model_type of config.json, and of a text_config. */
  modelType: string;
  examples: string;
  needsNoCode: boolean;
  /** Values of transformers' configuration class for keys that are left out. */
  defaults: Json;
  /** Values of keys by which others would be computed, the first of which counts for a key that is left out. */
  only: Readonly<Record<string, readonly unknown[]>>;
  experts: ExpertsFamily | null;
}

const EXPERTS: ExpertsFamily = {
  block: 'mlp',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
  gateUpOrder: 'halves',
  ffn: 'moe_intermediate_size',
  normed: 'stated',
  scaled: true,
  denseLayers: 'first',
  shared: 'plain',
};
const BIASED_EXPERTS: ExpertsFamily = {
  ...EXPERTS,
  scores: 'sigmoid',
  choiceBias: 'gate.e_score_correction_bias',
  groupsBy: 2,
};
const BIASED = { scoring_func: ['sigmoid'], topk_method: ['noaux_tc'] };
const LATENTS = {
  q_lora_rank: 1536,
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  rms_norm_eps: 1e-6,
};

export const DEEPSEEKS: Readonly<Record<string, Family>> = {
  DeepseekV2ForCausalLM: {
    modelType: 'deepseek_v2',
    examples: 'DeepSeek-V2, DeepSeek-V2-Lite, DeepSeek-V2.5, DeepSeek-Coder-V2',
    needsNoCode: true,
    defaults: {
      ...LATENTS,
      vocab_size: 102400,
      hidden_size: 4096,
      intermediate_size: 11008,
      num_hidden_layers: 32,
      num_attention_heads: 32,
      max_position_embeddings: 2048,
      n_routed_experts: 64,
      n_shared_experts: 2,
      moe_intermediate_size: 1407,
    },
    // Shares of these models are never normed, and transformers does not read whether they are.
    only: { scoring_func: ['softmax'], norm_topk_prob: [false], rope_interleave: [true] },
    experts: EXPERTS,
  },
  DeepseekV3ForCausalLM: {
    modelType: 'deepseek_v3',
    examples: 'DeepSeek-V3, DeepSeek-R1, DeepSeek-V3.1, Kimi K2, Moonlight',
    needsNoCode: true,
    defaults: {
      ...LATENTS,
      vocab_size: 129280,
      hidden_size: 7168,
      intermediate_size: 18432,
      num_hidden_layers: 61,
      num_attention_heads: 128,
      max_position_embeddings: 4096,
      n_routed_experts: 256,
      n_shared_experts: 1,
      num_experts_per_tok: 8,
      moe_intermediate_size: 2048,
      n_group: 8,
      topk_group: 4,
      first_k_dense_replace: 3,
      norm_topk_prob: true,
      routed_scaling_factor: 2.5,
    },
    only: BIASED,
    experts: BIASED_EXPERTS,
  },
  Glm4MoeLiteForCausalLM: {
    modelType: 'glm4_moe_lite',
    examples: 'GLM-4.7-Flash',
    needsNoCode: false,
    defaults: {
      ...LATENTS,
      q_lora_rank: 768,
      qk_nope_head_dim: 192,
      v_head_dim: 256,
      rms_norm_eps: 1e-5,
      vocab_size: 154880,
      hidden_size: 2048,
      intermediate_size: 10240,
      num_hidden_layers: 47,
      num_attention_heads: 20,
      max_position_embeddings: 202752,
      n_routed_experts: 64,
      n_shared_experts: 1,
      num_experts_per_tok: 4,
      moe_intermediate_size: 1536,
      first_k_dense_replace: 1,
      norm_topk_prob: true,
      routed_scaling_factor: 1.8,
    },
    only: BIASED,
    experts: BIASED_EXPERTS,
  },
  YoutuForCausalLM: {
    modelType: 'youtu',
    examples: 'Youtu-LLM-2B',
    needsNoCode: true,
    defaults: {
      ...LATENTS,
      vocab_size: 128256,
      hidden_size: 2048,
      intermediate_size: 6144,
      num_hidden_layers: 32,
      num_attention_heads: 16,
      max_position_embeddings: 131072,
      tie_word_embeddings: true,
    },
    only: {},
    experts: null,
  },
};

/** Errors: bad_checkpoint; unsupported for settings that deepseek.ts does not compute. */
export function readDeepseekConfig(json: Json, architecture: string, file = CONFIG_JSON): DeepseekConfig {
  const family = DEEPSEEKS[architecture]!;
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
  const config = readConfig(file, { ...family.defaults, ...stated });
  config.only({ hidden_act: ['silu'], mlp_bias: [false], use_mla: [true], ...family.only });
  const context = config.count('max_position_embeddings');
  const latents = readLatents(config);
  const rope = readRope(config, latents.rotated, { context });
  const layers = config.count('num_hidden_layers');
  const experts = family.experts && readExperts(config, expertsOf(config, family.experts), layers);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden: config.count('hidden_size'),
    ffn: config.count('intermediate_size'),
    heads: latentHeads(latents),
    latents,
    layers: Array.from({ length: layers }, () => ({ window: null, rope: 0 })),
    ropes: [rope],
    eps: config.real('rms_norm_eps'),
    context: scaledContext(rope, context),
    tied: config.flag('tie_word_embeddings', false),
    experts,
  };
}

/** How DeepSeek V2 chooses experts: the best of all, or of some groups. */
function expertsOf(config: ConfigReader, experts: ExpertsFamily): ExpertsFamily {
  if (experts.choiceBias !== undefined) return experts;
  const isLimited = config.choice('topk_method', { greedy: false, group_limited_greedy: true }, 'greedy');
  return isLimited ? { ...experts, groupsBy: 1 } : experts;
}

function readLatents(config: ConfigReader): DeepseekConfig['latents'] {
  const heads = config.count('num_attention_heads');
  const dims = {
    rank: config.count('kv_lora_rank'),
    rotated: config.count('qk_rope_head_dim'),
    plain: config.count('qk_nope_head_dim'),
    values: config.count('v_head_dim'),
  };
  const keys = ['kv_lora_rank', 'qk_rope_head_dim', 'qk_nope_head_dim', 'v_head_dim'] as const;
  Object.values(dims).forEach((count, i) => {
    const most = i === 0 ? MOST_RANK : MOST_DIMS;
    if (count % 4 !== 0 || count > most)
      throw config.error(
        'unsupported',
        keys[i]!,
        `${count} is not built; choose a model with a multiple of 4, at most ${most}`,
      );
  });
  return {
    heads,
    ...dims,
    queryRank: config.values['q_lora_rank'] === null ? null : config.count('q_lora_rank'),
    // Norms of latents keep the default of transformers' class, whatever rms_norm_eps says.
    eps: 1e-6,
    bias: config.flag('attention_bias', false),
    scale: attentionGrowth(config) / Math.sqrt(dims.plain + dims.rotated),
    pairs: config.flag('rope_interleave', true) ? 'adjacent' : 'half',
  };
}

/** Limits of attention over latents. */
const MOST_RANK = 512;
const MOST_DIMS = 512;

/** Factor of the scores of a stretched context, which mscale_all_dim states. Source: transformers' modeling_deepseek_v3. */
function attentionGrowth(config: ConfigReader): number {
  const own = ropeScaling(config);
  const type = own.values['rope_type'] ?? own.values['type'] ?? 'default';
  const all = type === 'default' ? 0 : own.real('mscale_all_dim', 0);
  const factor = all === 0 ? 1 : own.real('factor');
  return factor <= 1 ? 1 : (0.1 * all * Math.log(factor) + 1) ** 2;
}
