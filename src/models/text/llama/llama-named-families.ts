// Classes that llama.ts computes and whose configurations or tensors have names of their own, most of which transformers does not have.

import type { Json } from '../../config-values.ts';
import { MINICPM_KEYS } from '../blocks/residual-multipliers.ts';
import { LLAMA, type LlamaFamily } from './llama-family.ts';

/** Phi-4-multimodal: Phi-4-mini, whose layers take LoRAs for images and sounds only. */
const PHI4_MULTIMODAL: LlamaFamily = {
  ...LLAMA,
  modelType: 'phi4_multimodal',
  examples: 'Phi-4-multimodal as transformers stores it',
  eps: 1e-5,
  context: 131072,
  bias: 'none',
  mlpBias: null,
  windows: 'all',
  window: null,
  fused: true,
  ropeTypes: ['default', 'longrope'],
  partialRotation: true,
};

/** Voxtral Realtime: Mistral, with norms that know by how much the text is behind its sound (see delayed-norms.ts). */
const VOXTRAL_REALTIME: LlamaFamily = {
  ...LLAMA,
  modelType: 'voxtral_realtime_text',
  examples: 'text of Voxtral Mini 4B Realtime',
  kvHeads: 8,
  context: 131072,
  bias: 'none',
  mlpBias: null,
  windows: 'all',
};

export const NAMED_FAMILIES: readonly (readonly [string, LlamaFamily])[] = [
  [
    'CwmForCausalLM',
    {
      ...LLAMA,
      modelType: 'cwm',
      examples: 'Code World Model 32B',
      kvHeads: 8,
      dims: 128,
      eps: 1e-5,
      context: 131072,
      theta: 1e6,
      bias: 'none',
      windows: 'typed',
      window: 8192,
      adapt: withCwmLayers,
    },
  ],
  [
    'ExaoneForCausalLM',
    {
      ...LLAMA,
      modelType: 'exaone',
      examples: 'EXAONE 3.0 and 3.5, EXAONE Deep',
      needsNoCode: true,
      eps: 1e-5,
      bias: 'none',
      mlpBias: null,
      layout: {
        keys: {
          num_hidden_layers: 'num_layers',
          rms_norm_eps: 'layer_norm_epsilon',
          hidden_act: 'activation_function',
        },
        names: { prefix: 'transformer.', embedding: 'wte', layers: 'h', finalNorm: 'ln_f' },
        modules: { attentionNorm: 'ln_1', attention: 'attn.attention', mlpNorm: 'ln_2', mlp: 'mlp' },
        attentionNames: { out: 'out_proj' },
        mlpNames: { gate: 'c_fc_0', up: 'c_fc_1', down: 'c_proj' },
      },
    },
  ],
  [
    'InternLM2ForCausalLM',
    {
      ...LLAMA,
      modelType: 'internlm2',
      examples: 'InternLM 2 and 2.5',
      needsNoCode: true,
      bias: { qkv: ['bias', true], out: ['bias', true] },
      mlpBias: null,
      fused: 'qkv',
      ropeTypes: ['default', 'linear', 'dynamic'],
      layout: {
        names: { embedding: 'tok_embeddings', head: 'output' },
        modules: {
          attentionNorm: 'attention_norm',
          attention: 'attention',
          mlpNorm: 'ffn_norm',
          mlp: 'feed_forward',
        },
        attentionNames: { qkv: 'wqkv', out: 'wo' },
        mlpNames: { gate: 'w1', up: 'w3', down: 'w2' },
        heads: { order: 'groups' },
      },
    },
  ],
  [
    'InternLM3ForCausalLM',
    {
      ...LLAMA,
      modelType: 'internlm3',
      examples: 'InternLM 3 8B',
      needsNoCode: true,
      kvHeads: 2,
      dims: 128,
      eps: 1e-5,
      context: 32768,
      bias: { qkv: ['qkv_bias', false], out: ['bias', false] },
      mlpBias: 'bias',
    },
  ],
  [
    'MiniCPMForCausalLM',
    {
      ...LLAMA,
      modelType: 'minicpm',
      examples: 'MiniCPM 1B and 2B, MiniCPM4 0.5B and 8B',
      needsNoCode: true,
      tied: true,
      mlpBias: null,
      multipliers: 'minicpm',
      layout: {
        keys: MINICPM_KEYS,
      },
    },
  ],
  [
    'Phi4MMForCausalLM',
    {
      ...PHI4_MULTIMODAL,
      modelType: 'phi4mm',
      examples: 'Phi-4-multimodal as it is published',
      needsNoCode: true,
      layout: {
        attentionNames: { qkv: 'qkv_proj.base_layer', out: 'o_proj.base_layer' },
        mlpNames: {
          gate: 'gate_proj',
          up: 'up_proj',
          down: 'down_proj.base_layer',
          gateUp: 'gate_up_proj.base_layer',
        },
        ignored: /\.lora_[AB]\.(speech|vision)\.weight$/,
      },
    },
  ],
  ['Phi4MultimodalForCausalLM', PHI4_MULTIMODAL],
  ['VoxtralRealtimeTextModel', VOXTRAL_REALTIME],
];

/** The rotation of Code World Model where nothing is stated. Source: transformers' CwmConfig. */
const CWM_ROPE = {
  rope_type: 'llama3',
  rope_theta: 1e6,
  factor: 16,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};
const MOST_LAYERS = 1024;

/** Where layer_types is missing, the first layer of each four sees all tokens. */
function withCwmLayers(json: Json): Json {
  const layers = json['num_hidden_layers'];
  const isRotated = json['rope_parameters'] != null || json['rope_scaling'] != null;
  const isCounted = typeof layers === 'number' && layers >= 1 && layers <= MOST_LAYERS;
  return {
    ...json,
    ...(!isRotated && { rope_parameters: CWM_ROPE }),
    ...(isCounted &&
      json['layer_types'] == null && {
        layer_types: Array.from({ length: layers }, (_, i) =>
          i % 4 === 0 ? 'full_attention' : 'sliding_attention',
        ),
      }),
  };
}
