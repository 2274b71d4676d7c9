// Synthetic pipelines of diffusion transformers: the transformers have their real width and fewer layers, and only they are measured. The text
// encoders and autoencoders beside them are narrow.

import { CLIP, decoder } from './pipelines.mjs';

/** Z-Image with `layers` and `refiners` (the real one: 30 and 2). */
export function zImageOf({ layers, refiners, transformer = {}, captionDims = 2560 }) {
  return {
    index: { _class_name: 'ZImagePipeline' },
    parts: {
      scheduler: { class: FLOW, config: { shift: 3 } },
      tokenizer: { class: 'Qwen2Tokenizer', vocabulary: WORDS, template: '{{ messages[0].content }}' },
      text_encoder: { class: 'Qwen3Model', config: { ...QWEN3, hidden_size: captionDims } },
      transformer: {
        class: 'ZImageTransformer2DModel',
        config: {
          n_layers: layers,
          n_refiner_layers: refiners,
          cap_feat_dim: captionDims,
          ...transformer,
        },
      },
      vae: decoderOf16(),
    },
  };
}

/** Qwen-Image with `layers` (the real one: 60). */
export function qwenImageOf({ layers, transformer = {}, textDims = 3584 }) {
  return {
    index: { _class_name: 'QwenImagePipeline' },
    parts: {
      scheduler: { class: FLOW, config: QWEN_FLOW },
      tokenizer: { class: 'Qwen2Tokenizer', vocabulary: WORDS },
      text_encoder: {
        class: 'Qwen2_5_VLForConditionalGeneration',
        config: { text_config: { ...QWEN25, hidden_size: textDims }, tie_word_embeddings: false },
      },
      transformer: {
        class: 'QwenImageTransformer2DModel',
        config: { num_layers: layers, joint_attention_dim: textDims, ...transformer },
      },
      vae: {
        class: 'AutoencoderKLQwenImage',
        config: { base_dim: 16, latents_mean: Array(16).fill(0), latents_std: Array(16).fill(1) },
      },
    },
  };
}

/** FLUX.1-dev with `layers` of two streams and `singles` of one (the real one: 19 and 38). */
export function fluxOf({ layers, singles, transformer = {}, textDims = 4096, pooledDims = 768 }) {
  return {
    index: { _class_name: 'FluxPipeline' },
    parts: {
      scheduler: { class: FLOW, config: FLUX_FLOW },
      tokenizer: { class: 'CLIPTokenizer', vocabulary: WORDS },
      text_encoder: { class: 'CLIPTextModel', config: clipOf(pooledDims) },
      tokenizer_2: { class: 'T5TokenizerFast', vocabulary: WORDS },
      text_encoder_2: { class: 'T5EncoderModel', config: { ...T5, d_model: textDims } },
      transformer: {
        class: 'FluxTransformer2DModel',
        config: {
          num_layers: layers,
          num_single_layers: singles,
          guidance_embeds: true,
          joint_attention_dim: textDims,
          pooled_projection_dim: pooledDims,
          ...transformer,
        },
      },
      vae: decoderOf16(),
    },
  };
}

/** Stable Diffusion 3.5 medium with `layers`, of which the first `duals` have two attentions (the real one: 24 and 13). */
export function sd3Of({ layers, duals, transformer = {}, textDims = 4096, clipDims = [768, 1280] }) {
  const clips = clipDims.map((columns) => ({
    class: 'CLIPTextModelWithProjection',
    config: { ...clipOf(columns), projection_dim: columns },
  }));
  return {
    index: { _class_name: 'StableDiffusion3Pipeline' },
    parts: {
      scheduler: { class: FLOW, config: { shift: 3 } },
      tokenizer: { class: 'CLIPTokenizer', vocabulary: WORDS },
      text_encoder: clips[0],
      tokenizer_2: { class: 'CLIPTokenizer', vocabulary: WORDS },
      text_encoder_2: clips[1],
      tokenizer_3: { class: 'T5TokenizerFast', vocabulary: WORDS },
      text_encoder_3: { class: 'T5EncoderModel', config: { ...T5, d_model: textDims } },
      transformer: {
        class: 'SD3Transformer2DModel',
        config: {
          ...SD35_MEDIUM,
          num_layers: layers,
          dual_attention_layers: Array.from({ length: duals }, (_, i) => i),
          joint_attention_dim: textDims,
          pooled_projection_dim: clipDims[0] + clipDims[1],
          ...transformer,
        },
      },
      vae: decoderOf16(),
    },
  };
}

/** Wan 2.1 T2V 1.3B with `layers` (the real one: 30), and its whole autoencoder, or one of `decoderChannels` at its widest resolution (96). */
export function wanOf({ layers, transformer = {}, textDims = 4096, decoderChannels = 96 }) {
  return {
    index: { _class_name: 'WanPipeline' },
    parts: {
      scheduler: { class: 'UniPCMultistepScheduler', config: WAN_FLOW },
      tokenizer: { class: 'T5TokenizerFast', vocabulary: WORDS },
      text_encoder: { class: 'UMT5EncoderModel', config: { ...T5, d_model: textDims, model_type: 'umt5' } },
      transformer: {
        class: 'WanTransformer3DModel',
        config: {
          num_attention_heads: 12,
          ffn_dim: 8960,
          text_dim: textDims,
          num_layers: layers,
          ...transformer,
        },
      },
      vae: {
        class: 'AutoencoderKLWan',
        config: {
          base_dim: decoderChannels,
          latents_mean: Array(16).fill(0),
          latents_std: Array(16).fill(1),
        },
      },
    },
  };
}

/** Words of the vocabularies, 256 of them bytes. */
const WORDS = 512;

const FLOW = 'FlowMatchEulerDiscreteScheduler';
/** As Wan is published. */
const WAN_FLOW = { prediction_type: 'flow_prediction', use_flow_sigmas: true, flow_shift: 3 };
/** As Qwen-Image is published. */
const QWEN_FLOW = {
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 0.9,
  max_image_seq_len: 8192,
  shift_terminal: 0.02,
};
/** As FLUX.1-dev is published. */
const FLUX_FLOW = {
  use_dynamic_shifting: true,
  shift: 3,
  base_shift: 0.5,
  max_shift: 1.15,
  base_image_seq_len: 256,
  max_image_seq_len: 4096,
};

const SD35_MEDIUM = {
  attention_head_dim: 64,
  num_attention_heads: 24,
  caption_projection_dim: 1536,
  qk_norm: 'rms_norm',
  pos_embed_max_size: 384,
  sample_size: 128,
};

const QWEN3 = {
  model_type: 'qwen3',
  architectures: ['Qwen3ForCausalLM'],
  intermediate_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  num_key_value_heads: 2,
  head_dim: 128,
  vocab_size: WORDS,
  tie_word_embeddings: true,
};
const QWEN25 = {
  model_type: 'qwen2_5_vl_text',
  intermediate_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  rms_norm_eps: 1e-6,
  vocab_size: WORDS,
};
const T5 = {
  d_kv: 64,
  d_ff: 1024,
  num_heads: 8,
  num_layers: 1,
  vocab_size: WORDS,
  feed_forward_proj: 'gated-gelu',
};

const clipOf = (columns) => ({
  ...CLIP,
  hidden_size: columns,
  intermediate_size: columns,
  num_attention_heads: Math.max(1, columns / 64),
  num_hidden_layers: 2,
  vocab_size: WORDS,
});

const decoderOf16 = () => ({
  class: 'AutoencoderKL',
  config: decoder(32, 16, { use_quant_conv: false, use_post_quant_conv: false }),
});
