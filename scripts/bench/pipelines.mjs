// Synthetic diffusion pipelines in the diffusers layout: configurations of the real models, with fewer channels or layers if
// requested. The tensors are those that the model pages request, so that none is missing.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { autoencoderKLDecoder, autoencoderKLEncoder } from '../../dist/models/image/autoencoder-kl.js';
import { readAutoencoderKLConfig } from '../../dist/models/image/autoencoder-kl-config.js';
import { readAutoencoderQwenImageConfig } from '../../dist/models/image/autoencoder-qwen-image-config.js';
import { qwenImageDecoder, qwenImageEncoder } from '../../dist/models/image/autoencoder-qwen-image.js';
import { readQwenImageConfig } from '../../dist/models/image/qwen-image-config.js';
import { qwenImage } from '../../dist/models/image/qwen-image.js';
import { clip } from '../../dist/models/text/clip.js';
import { readClipConfig } from '../../dist/models/text/clip-config.js';
import { readText } from '../../dist/models/text/registry.js';
import { textHalf } from '../../dist/models/text/wrappers.js';
import { readUNetConfig } from '../../dist/models/image/unet-config.js';
import { unet } from '../../dist/models/image/unet.js';
import { readZImageConfig } from '../../dist/models/image/z-image-config.js';
import { zImage } from '../../dist/models/image/z-image.js';
import { tensorsOf, WeightTable } from '../../dist/models/weights.js';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

/** Stable Diffusion 1 with a UNet of `channels` at its widest resolution (1.5: 320); text encoder and decoder are unchanged. */
export function stableDiffusion({ channels, clip: clipSize = {}, decoderChannels = 128 }) {
  const text = { ...CLIP, ...clipSize };
  return {
    index: { _class_name: 'StableDiffusionPipeline' },
    parts: {
      scheduler: { class: 'EulerDiscreteScheduler', config: SCALED_LINEAR },
      tokenizer: { class: 'CLIPTokenizer', vocabulary: text.vocab_size },
      text_encoder: { class: 'CLIPTextModel', config: text },
      unet: {
        class: 'UNet2DConditionModel',
        config: {
          block_out_channels: [1, 2, 4, 4].map((times) => times * channels),
          attention_head_dim: 8,
          cross_attention_dim: text.hidden_size,
          sample_size: 64,
        },
      },
      vae: { class: 'AutoencoderKL', config: decoder(decoderChannels, 4, {}) },
    },
  };
}

/** Version of the written files; increased when they change, so that old checkpoints are not reused. */
const FORM = 2;

/**
 * Z-Image with `layers` and `refiners` (the real one: 30 and 2) at its full width. Only the transformer is measured: one layer of
 * the text encoder runs, and the decoder is narrow.
 */
export function zImageOf({ layers, refiners, transformer = {}, captionDims = 2560 }) {
  return {
    index: { _class_name: 'ZImagePipeline' },
    parts: {
      scheduler: { class: 'FlowMatchEulerDiscreteScheduler', config: { shift: 3 } },
      tokenizer: { class: 'Qwen2Tokenizer', vocabulary: 512, template: '{{ messages[0].content }}' },
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
      vae: { class: 'AutoencoderKL', config: decoder(32, 16, { use_post_quant_conv: false }) },
    },
  };
}

/**
 * Qwen-Image with `layers` (the real one: 60) at its full width. Only the transformer is measured: the text encoder has two narrow
 * layers, and the autoencoder is narrow.
 */
export function qwenImageOf({ layers, transformer = {}, textDims = 3584 }) {
  return {
    index: { _class_name: 'QwenImagePipeline' },
    parts: {
      scheduler: { class: 'FlowMatchEulerDiscreteScheduler', config: QWEN_FLOW },
      tokenizer: { class: 'Qwen2Tokenizer', vocabulary: 512 },
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

/** @returns {string} the folder of a pipeline, made at the first call */
export function pipelineFolder(name, pipeline) {
  const digest = createHash('sha256')
    .update(JSON.stringify([FORM, pipeline]))
    .digest('hex')
    .slice(0, 8);
  return madeOnce(`${name}-${digest}`, (folder) => writePipeline(folder, pipeline));
}

export function writePipeline(folder, { index, parts }) {
  for (const [part, content] of Object.entries(parts)) {
    const own = join(folder, part);
    mkdirSync(own);
    (WRITERS[part] ?? writeModel)(own, content);
  }
  const components = Object.entries(parts).map(([part, content]) => [
    part,
    [LIBRARIES[part] ?? 'diffusers', content.class],
  ]);
  writeJson(join(folder, 'model_index.json'), { ...index, ...Object.fromEntries(components) });
}

const CLIP = {
  hidden_size: 768,
  intermediate_size: 3072,
  num_hidden_layers: 12,
  num_attention_heads: 12,
  max_position_embeddings: 77,
  vocab_size: 49408,
};
const QWEN3 = {
  model_type: 'qwen3',
  architectures: ['Qwen3ForCausalLM'],
  intermediate_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  num_key_value_heads: 2,
  head_dim: 128,
  vocab_size: 512,
  tie_word_embeddings: true,
};
const QWEN25 = {
  model_type: 'qwen2_5_vl_text',
  intermediate_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  rms_norm_eps: 1e-6,
  vocab_size: 512,
};
/** As Qwen-Image is published. */
const QWEN_FLOW = {
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 0.9,
  max_image_seq_len: 8192,
  shift_terminal: 0.02,
};
const SCALED_LINEAR = {
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  steps_offset: 1,
};
const LIBRARIES = { tokenizer: 'transformers', text_encoder: 'transformers' };

function decoder(channels, latents, more) {
  return {
    block_out_channels: [1, 2, 4, 4].map((times) => times * channels),
    down_block_types: Array(4).fill('DownEncoderBlock2D'),
    up_block_types: Array(4).fill('UpDecoderBlock2D'),
    layers_per_block: 2,
    latent_channels: latents,
    ...more,
  };
}

/** Functions that build a model page from a configuration and a table of weights. */
const PAGES = {
  CLIPTextModel: (config, weights) => clip(readClipConfig(config, 'CLIPTextModel'), weights),
  Qwen3Model(json, weights) {
    const { states, layers } = readText(json, 'Qwen3Model');
    return states(weights, [layers.length - 1]);
  },
  UNet2DConditionModel: (config, weights) => unet(readUNetConfig(config), weights),
  ZImageTransformer2DModel: (config, weights) => zImage(readZImageConfig(config), weights),
  Qwen2_5_VLForConditionalGeneration(json, weights) {
    const { config, architecture } = textHalf(json, 'Qwen2_5_VLForConditionalGeneration');
    return readText(config, architecture).embed(weights);
  },
  QwenImageTransformer2DModel: (config, weights) => qwenImage(readQwenImageConfig(config), weights),
  AutoencoderKLQwenImage(json, weights) {
    const config = readAutoencoderQwenImageConfig(json);
    return [qwenImageEncoder(config, weights), qwenImageDecoder(config, weights)];
  },
  AutoencoderKL(json, weights) {
    const config = readAutoencoderKLConfig(json);
    return [autoencoderKLEncoder(config, weights), autoencoderKLDecoder(config, weights)];
  },
};

const WRITERS = {
  scheduler: (folder, { class: className, config }) =>
    writeJson(join(folder, 'scheduler_config.json'), { _class_name: className, ...config }),
  tokenizer(folder, { vocabulary, template }) {
    writeJson(join(folder, 'tokenizer.json'), byteTokenizer(vocabulary));
    writeJson(join(folder, 'tokenizer_config.json'), template ? { chat_template: template } : {});
  },
};

function writeModel(folder, { class: className, config }) {
  const weights = new WeightTable({ has: () => false });
  PAGES[className](config, weights);
  const shapes = weights.requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]);
  writeTensors(join(folder, 'model.safetensors'), shapes);
  writeJson(join(folder, 'config.json'), { _class_name: className, ...config });
}

function writeJson(path, value) {
  writeFileSync(path, JSON.stringify(value));
}
