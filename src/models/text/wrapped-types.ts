// Text models of classes that read pages, which exist only within them: the type that computes the same, with what transformers' configuration
// classes have where nothing is stated.

import type { Json } from '../config-values.ts';

export interface WrappedType {
  modelType: string;
  defaults: Json;
}

const GLM_4V: WrappedType = {
  modelType: 'glm4',
  defaults: {
    attention_bias: true,
    partial_rotary_factor: 1,
    rms_norm_eps: 1e-5,
    max_position_embeddings: 32768,
  },
};
const GLM_OCR: WrappedType = {
  modelType: 'glm4',
  defaults: {
    ...GLM_4V.defaults,
    attention_bias: false,
    num_key_value_heads: 8,
    max_position_embeddings: 131072,
  },
};
/** Layers of ERNIE 4.5 whose heads turn by halves. */
const PADDLE_OCR: WrappedType = {
  modelType: 'llama',
  defaults: {
    vocab_size: 103424,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 18,
    num_attention_heads: 16,
    num_key_value_heads: 2,
    head_dim: 128,
    rms_norm_eps: 1e-5,
    max_position_embeddings: 131072,
    rope_theta: 500000,
  },
};

export const WRAPPED_TYPES: readonly (readonly [type: string, same: WrappedType])[] = [
  ['glm4v', GLM_4V],
  ['glm4v_text', GLM_4V],
  [
    'glm4v_moe_text',
    { modelType: 'glm4_moe', defaults: { attention_bias: true, max_position_embeddings: 65536 } },
  ],
  ['glm_ocr_text', GLM_OCR],
  ['lightonocr_text', { modelType: 'qwen3', defaults: {} }],
  ['paddleocr_vl', PADDLE_OCR],
  ['paddleocr_vl_text', PADDLE_OCR],
  [
    'voxtral_realtime_text',
    {
      modelType: 'voxtral_realtime_text',
      defaults: {
        vocab_size: 131072,
        hidden_size: 3072,
        intermediate_size: 9216,
        num_hidden_layers: 26,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        head_dim: 128,
        rms_norm_eps: 1e-5,
        rope_theta: 1e6,
        sliding_window: 8192,
      },
    },
  ],
];
