// The families of mixtures whose layers are those of llama.ts, and their dense relatives. They differ in names of keys and tensors, in what their
// routers compute, and in the experts that take all tokens. Values left out of a config.json are those of transformers' configuration
// classes.

import type { ExpertsFamily } from '../blocks/experts-config.ts';
import { QWEN_EXPERTS } from '../llama/llama-families.ts';
import { LLAMA, MODULES, type LlamaFamily } from '../llama/llama-family.ts';
import { inPlaceOf, one, sparseLayers, withPartialRotation, withStretchedBase } from './mixtures-keys.ts';

/** Experts chosen by the sigmoids of their logits with a bias, as DeepSeek V3 has them, and experts that take all tokens. */
const BIASED_EXPERTS: ExpertsFamily = {
  ...QWEN_EXPERTS,
  projections: { ...QWEN_EXPERTS.projections, gateUp: 'gate_up_proj' },
  gateUpOrder: 'halves',
  scores: 'sigmoid',
  choiceBias: 'gate.e_score_correction_bias',
  groupsBy: 2,
  scaled: true,
  denseLayers: 'first',
  shared: 'plain',
};

const ERNIE: LlamaFamily = {
  ...LLAMA,
  modelType: 'ernie4_5',
  examples: 'ERNIE 4.5 0.3B',
  needsNoCode: true,
  kvHeads: 2,
  dims: 128,
  eps: 1e-5,
  context: 131072,
  theta: 500000,
  tied: true,
  layout: { keys: { attention_bias: 'use_bias', mlp_bias: 'use_bias' }, heads: { pairs: 'adjacent' } },
};

const GRANITE_MOE: LlamaFamily = {
  ...LLAMA,
  modelType: 'granitemoe',
  examples: 'Granite 3.x 1B-A400M and 3B-A800M, PowerMoE',
  mlpBias: null,
  multipliers: 'granite',
  experts: {
    block: 'block_sparse_moe',
    router: 'router.layer',
    projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
    gateUpOrder: 'halves',
    ffn: 'intermediate_size',
    normed: true,
    denseLayers: false,
    shared: false,
  },
};

const BAILING: LlamaFamily = {
  ...LLAMA,
  modelType: 'bailing_moe',
  examples: 'Ling-lite, Ling-plus, Ring-lite',
  needsNoCode: true,
  bias: 'none',
  mlpBias: null,
  fused: 'qkv',
  theta: 600000,
  context: 32768,
  layout: {
    keys: {
      n_shared_experts: 'num_shared_experts',
      shared_expert_intermediate_size: 'moe_shared_expert_intermediate_size',
    },
    names: { embedding: 'word_embeddings' },
    modules: { ...MODULES, attention: 'attention' },
    attentionNames: {
      qkv: 'query_key_value',
      out: 'dense',
      qNorm: 'query_layernorm',
      kNorm: 'key_layernorm',
    },
  },
  only: { use_bias: [false], use_qkv_bias: [false], norm_head: [false] },
  experts: {
    ...QWEN_EXPERTS,
    normed: 'stated',
    denseLayers: 'first',
    shared: 'plain',
  },
};

const HUNYUAN: LlamaFamily = {
  ...LLAMA,
  modelType: 'hunyuan_v1_dense',
  examples: 'Hunyuan 0.5B to 7B, Hunyuan-MT',
  needsNoCode: true,
  eps: 1e-5,
  mlpBias: null,
  queryNorm: 'heads',
  layout: {
    keys: { 'rope_scaling.factor': 'alpha' },
    attentionNames: { qNorm: 'query_layernorm', kNorm: 'key_layernorm' },
    normTurned: true,
  },
  ropeTypes: ['default', 'linear', 'dynamic', 'ntk'],
  only: { use_qk_norm: [true], use_cla: [false] },
  adapt: (json) => withStretchedBase({ ...json, head_dim: json['head_dim'] ?? json['attention_head_dim'] }),
};

export const MIXTURES: ReadonlyMap<string, LlamaFamily> = new Map([
  ['Ernie4_5ForCausalLM', ERNIE],
  [
    'Ernie4_5_MoeForCausalLM',
    {
      ...ERNIE,
      modelType: 'ernie4_5_moe',
      examples: 'ERNIE 4.5 21B-A3B and 300B-A47B',
      kvHeads: 4,
      dims: null,
      only: { use_bias: [false], moe_use_aux_free: [true], moe_gate: ['topk'] },
      layout: {
        ...ERNIE.layout,
        keys: {
          n_routed_experts: 'moe_num_experts',
          n_shared_experts: 'moe_num_shared_experts',
          num_experts_per_tok: 'moe_k',
        },
      },
      adapt: sparseLayers,
      experts: {
        ...BIASED_EXPERTS,
        scores: 'softmax',
        choiceBias: 'moe_statics.e_score_correction_bias',
        normed: true,
        scaled: false,
      },
    },
  ],
  ['HunYuanDenseV1ForCausalLM', HUNYUAN],
  [
    'HunYuanMoEV1ForCausalLM',
    {
      ...HUNYUAN,
      modelType: 'hunyuan_v1_moe',
      examples: 'Hunyuan-A13B',
      needsNoCode: true,
      only: { ...HUNYUAN.only, norm_topk_prob: [true], moe_layer_num_skipped: [0] },
      layout: {
        ...HUNYUAN.layout,
        keys: {
          ...HUNYUAN.layout!.keys,
          num_experts_per_tok: 'moe_topk',
          n_shared_experts: 'num_shared_expert',
        },
      },
      adapt: (json) =>
        HUNYUAN.adapt!({
          ...json,
          num_experts: one(json['num_experts']),
          num_experts_per_tok: one(json['num_experts_per_tok']),
          n_shared_experts: one(json['n_shared_experts']) ?? 1,
        }),
      experts: {
        ...QWEN_EXPERTS,
        router: 'gate.wg',
        ffn: 'intermediate_size',
        normed: true,
        denseLayers: false,
        shared: 'plain',
        sharedMlp: { module: 'shared_mlp' },
      },
    },
  ],
  [
    'Glm4MoeForCausalLM',
    {
      ...LLAMA,
      modelType: 'glm4_moe',
      examples: 'GLM-4.5, GLM-4.5-Air, GLM-4.6, GLM-4.7',
      kvHeads: 8,
      eps: 1e-5,
      context: 131072,
      bias: { qkv: ['attention_bias', false], out: null },
      mlpBias: null,
      queryNorm: 'stated',
      partialRotation: true,
      adapt: inPlaceOf({ partial_rotary_factor: 0.5, norm_topk_prob: true, first_k_dense_replace: 1 }),
      experts: BIASED_EXPERTS,
    },
  ],
  [
    'DeepseekForCausalLM',
    {
      ...LLAMA,
      modelType: 'deepseek',
      examples: 'DeepSeek MoE 16B, the language model of DeepSeek-OCR',
      needsNoCode: true,
      mlpBias: null,
      only: { use_mla: [false], scoring_func: ['softmax'], topk_method: ['greedy'] },
      layout: { ignored: /^model\.(image_newline|view_seperator)$/ },
      experts: {
        ...QWEN_EXPERTS,
        projections: BIASED_EXPERTS.projections,
        gateUpOrder: 'halves',
        scaled: true,
        denseLayers: 'first',
        shared: 'plain',
      },
    },
  ],
  [
    'Dots1ForCausalLM',
    {
      ...LLAMA,
      modelType: 'dots1',
      examples: 'dots.llm1',
      needsNoCode: true,
      kvHeads: 32,
      mlpBias: null,
      queryNorm: 'heads',
      windows: 'some',
      adapt: inPlaceOf({ max_window_layers: 62 }),
      experts: BIASED_EXPERTS,
    },
  ],
  [
    'MiniMaxM2ForCausalLM',
    {
      ...LLAMA,
      modelType: 'minimax_m2',
      examples: 'MiniMax M2, M2.1, M2.5, M2.7',
      needsNoCode: true,
      kvHeads: 8,
      dims: 128,
      context: 196608,
      theta: 5e6,
      bias: 'none',
      mlpBias: null,
      queryNorm: 'row',
      partialRotation: true,
      only: {
        use_qk_norm: [true],
        qk_norm_type: ['per_layer'],
        use_routing_bias: [true],
        scoring_func: ['sigmoid'],
        shared_intermediate_size: [0],
        attn_type_list: [1],
      },
      adapt: (json) => withPartialRotation({ ...json, attn_type_list: one(json['attn_type_list']) }, 128),
      experts: {
        ...BIASED_EXPERTS,
        block: 'block_sparse_moe',
        projections: { gate: 'w1', up: 'w3', down: 'w2' },
        ffn: 'intermediate_size',
        choiceBias: 'e_score_correction_bias',
        normed: true,
        scaled: false,
        denseLayers: false,
        shared: false,
      },
    },
  ],
  ['GraniteMoeForCausalLM', GRANITE_MOE],
  [
    'GraniteMoeSharedForCausalLM',
    {
      ...GRANITE_MOE,
      modelType: 'granitemoeshared',
      examples: 'Granite MoE with a shared expert',
      layout: { keys: { shared_expert_intermediate_size: 'shared_intermediate_size' } },
      adapt: (json) => ({
        ...json,
        shared_expert_intermediate_size: json['shared_expert_intermediate_size'] || null,
      }),
      experts: {
        ...GRANITE_MOE.experts!,
        shared: 'plain',
        sharedMlp: {
          module: 'shared_mlp',
          beside: true,
          fusedGateUp: true,
          mlpNames: { gate: 'gate_proj', up: 'up_proj', down: 'output_linear', gateUp: 'input_linear' },
        },
      },
    },
  ],
  ['BailingMoeForCausalLM', BAILING],
  [
    'BailingMoeV2ForCausalLM',
    {
      ...BAILING,
      modelType: 'bailing_moe_v2',
      examples: 'Ling-mini-2.0, Ling-flash-2.0, Ring-mini-2.0',
      queryNorm: 'stated',
      partialRotation: true,
      only: { ...BAILING.only, score_function: ['sigmoid'], moe_router_enable_expert_bias: [true] },
      adapt: inPlaceOf({ use_qk_norm: true, norm_topk_prob: true }),
      experts: {
        ...BIASED_EXPERTS,
        choiceBias: 'gate.expert_bias',
      },
    },
  ],
]);
