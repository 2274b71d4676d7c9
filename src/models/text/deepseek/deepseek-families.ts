// By what the classes that deepseek.ts computes differ. Values left out of a config.json are those of transformers' configuration classes.

import type { Json } from '../../config-values.ts';
import type { ExpertsFamily } from '../blocks/experts-config.ts';
import { MINICPM_KEYS } from '../blocks/residual-multipliers.ts';

export interface DeepseekFamily {
  /** model_type of config.json, and of a text_config. */
  modelType: string;
  examples: string;
  needsNoCode: boolean;
  /** Values of transformers' configuration class for keys that are left out. */
  defaults: Json;
  /** Values of keys by which others would be computed, the first of which counts for a key that is left out. */
  only: Readonly<Record<string, readonly unknown[]>>;
  experts: ExpertsFamily | null;
  /** Pairs that the indexer's rotation turns; left out: no indexer. */
  indexed?: 'half' | 'adjacent';
  /** Its keys of config.json by those that decoders share; left out: none differ. */
  keys?: Readonly<Record<string, string>>;
  /** rope_parameters where none are stated; left out: plain ones. */
  rope?: Json;
  /** Queries grow with their position, by llama_4_scaling_beta of the rope parameters. */
  growth?: boolean;
  /** MiniCPM's multipliers are read. */
  multipliers?: boolean;
  /** Dimensions that a rotation turns together; left out: as rope_interleave says. */
  pairs?: 'half';
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

const INDEXER = { index_topk: 2048, index_head_dim: 128 };

const V3: DeepseekFamily = {
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
};

export const DEEPSEEKS: Readonly<Record<string, DeepseekFamily>> = {
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
  DeepseekV3ForCausalLM: V3,
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
  DeepseekV32ForCausalLM: {
    ...V3,
    modelType: 'deepseek_v32',
    examples: 'DeepSeek-V3.2',
    defaults: { ...V3.defaults, ...INDEXER, index_n_heads: 64, max_position_embeddings: 163840 },
    indexed: 'half',
  },
  GlmMoeDsaForCausalLM: {
    modelType: 'glm_moe_dsa',
    examples: 'GLM-5, GLM-5.1, GLM-5.2',
    needsNoCode: false,
    defaults: {
      ...V3.defaults,
      q_lora_rank: 2048,
      qk_nope_head_dim: 192,
      v_head_dim: 256,
      rms_norm_eps: 1e-5,
      vocab_size: 154880,
      hidden_size: 6144,
      intermediate_size: 12288,
      num_hidden_layers: 78,
      num_attention_heads: 64,
      max_position_embeddings: 202752,
      n_group: 1,
      topk_group: 1,
      ...INDEXER,
      index_n_heads: 32,
    },
    only: BIASED,
    experts: BIASED_EXPERTS,
    indexed: 'adjacent',
  },
  MiniCPM3ForCausalLM: {
    modelType: 'minicpm3',
    examples: 'MiniCPM3-4B',
    needsNoCode: true,
    keys: MINICPM_KEYS,
    defaults: {
      ...LATENTS,
      q_lora_rank: 768,
      kv_lora_rank: 256,
      qk_nope_head_dim: 64,
      qk_rope_head_dim: 32,
      v_head_dim: null,
      rms_norm_eps: 1e-5,
      vocab_size: 73448,
      hidden_size: 2560,
      intermediate_size: 6400,
      num_hidden_layers: 62,
      num_attention_heads: 40,
      max_position_embeddings: 32768,
      tie_word_embeddings: true,
      embedding_multiplier: 12,
      residual_multiplier: 1.4,
      dim_model_base: 256,
    },
    only: {},
    experts: null,
    multipliers: true,
    pairs: 'half',
  },
  Mistral4ForCausalLM: {
    modelType: 'mistral4',
    examples: 'Mistral Small 4',
    needsNoCode: false,
    defaults: {
      ...LATENTS,
      q_lora_rank: 1024,
      kv_lora_rank: 256,
      qk_nope_head_dim: 64,
      vocab_size: 131072,
      hidden_size: 4096,
      intermediate_size: 12288,
      num_hidden_layers: 36,
      num_attention_heads: 32,
      max_position_embeddings: 1048576,
      n_routed_experts: 128,
      n_shared_experts: 1,
      num_experts_per_tok: 4,
      moe_intermediate_size: 2048,
      norm_topk_prob: true,
    },
    only: { scoring_func: ['softmax'] },
    experts: { ...EXPERTS, groupsBy: 2 },
    growth: true,
    rope: {
      rope_type: 'yarn',
      rope_theta: 10000,
      factor: 128,
      original_max_position_embeddings: 8192,
      mscale: 1,
      mscale_all_dim: 1,
      llama_4_scaling_beta: 0.1,
    },
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
