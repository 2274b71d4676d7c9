// Synthetic diffusion pipelines in the diffusers layout, written from configurations; Stable Diffusion 1 with fewer channels if requested. The
// tensors are those that the model pages request, so that none is missing.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  autoencoderKLDecoder,
  autoencoderKLEncoder,
} from '../../dist/models/image/autoencoders/autoencoder-kl.js';
import { readAutoencoderKLConfig } from '../../dist/models/image/autoencoders/autoencoder-kl-config.js';
import { readAutoencoderWanConfig } from '../../dist/models/image/autoencoders/autoencoder-wan-config.js';
import { wanDecoder, wanEncoder } from '../../dist/models/image/autoencoders/autoencoder-wan.js';
import { wan } from '../../dist/models/image/clips/wan.js';
import { readWanConfig } from '../../dist/models/image/clips/wan-config.js';
import { readFluxConfig } from '../../dist/models/image/flux-config.js';
import { flux } from '../../dist/models/image/flux.js';
import { readQwenImageConfig } from '../../dist/models/image/qwen-image-config.js';
import { qwenImage } from '../../dist/models/image/qwen-image.js';
import { readSD3Config } from '../../dist/models/image/sd3-config.js';
import { sd3, sd3Places } from '../../dist/models/image/sd3.js';
import { clip } from '../../dist/models/text/clip/clip.js';
import { readClipConfig } from '../../dist/models/text/clip/clip-config.js';
import { readText } from '../../dist/models/text/registry.js';
import { t5 } from '../../dist/models/text/t5/t5.js';
import { readT5Config } from '../../dist/models/text/t5/t5-config.js';
import { textHalf } from '../../dist/models/text/wrappers.js';
import { readUNetConfig } from '../../dist/models/image/unet/unet-config.js';
import { unet } from '../../dist/models/image/unet/unet.js';
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

/** Stable Diffusion XL with a UNet of `channels` at its widest resolution (the real one: 320), and text encoders of fewer layers. */
export function stableDiffusionXL({ channels, clip: clipSize = {}, bigDims = 1280, decoderChannels = 128 }) {
  const text = { ...CLIP, num_hidden_layers: 2, ...clipSize };
  const big = { ...text, hidden_size: bigDims, intermediate_size: 4 * bigDims, projection_dim: bigDims };
  const heads = channels / 64;
  return {
    index: { _class_name: 'StableDiffusionXLPipeline', force_zeros_for_empty_prompt: true },
    parts: {
      scheduler: { class: 'EulerDiscreteScheduler', config: SCALED_LINEAR },
      tokenizer: { class: 'CLIPTokenizer', vocabulary: text.vocab_size },
      text_encoder: { class: 'CLIPTextModel', config: text },
      tokenizer_2: { class: 'CLIPTokenizer', vocabulary: text.vocab_size },
      text_encoder_2: {
        class: 'CLIPTextModelWithProjection',
        config: { ...big, num_attention_heads: Math.max(1, bigDims / 64) },
      },
      unet: {
        class: 'UNet2DConditionModel',
        config: {
          block_out_channels: [1, 2, 4].map((times) => times * channels),
          down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D', 'CrossAttnDownBlock2D'],
          up_block_types: ['CrossAttnUpBlock2D', 'CrossAttnUpBlock2D', 'UpBlock2D'],
          transformer_layers_per_block: [1, 2, 10],
          attention_head_dim: [1, 2, 4].map((times) => Math.max(1, times * heads)),
          cross_attention_dim: text.hidden_size + bigDims,
          use_linear_projection: true,
          addition_embed_type: 'text_time',
          addition_time_embed_dim: 256,
          projection_class_embeddings_input_dim: bigDims + 6 * 256,
          sample_size: 128,
        },
      },
      vae: { class: 'AutoencoderKL', config: decoder(decoderChannels, 4, { scaling_factor: 0.13025 }) },
    },
  };
}

/** Version of the written files; increased when they change, so that old checkpoints are not reused. */
const FORM = 2;

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
    (WRITERS[part.replace(/_\d$/, '')] ?? writeModel)(own, content);
  }
  const components = Object.entries(parts).map(([part, content]) => [
    part,
    [/^(tokenizer|text_encoder)/.test(part) ? 'transformers' : 'diffusers', content.class],
  ]);
  writeJson(join(folder, 'model_index.json'), { ...index, ...Object.fromEntries(components) });
}

export const CLIP = {
  hidden_size: 768,
  intermediate_size: 3072,
  num_hidden_layers: 12,
  num_attention_heads: 12,
  max_position_embeddings: 77,
  vocab_size: 49408,
};
const SCALED_LINEAR = {
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  steps_offset: 1,
};

/** An AutoencoderKL of `channels` at its widest resolution (the real ones: 128) for `latents` channels of latents. */
export function decoder(channels, latents, more) {
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
  CLIPTextModelWithProjection: (config, weights) =>
    clip(readClipConfig(config, 'CLIPTextModelWithProjection'), weights),
  T5EncoderModel: (config, weights) => t5(readT5Config(config), weights),
  UMT5EncoderModel: (config, weights) => t5(readT5Config(config), weights),
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
  FluxTransformer2DModel: (config, weights) => flux(readFluxConfig(config), weights),
  SD3Transformer2DModel: (config, weights) => [
    sd3(readSD3Config(config), weights),
    sd3Places(readSD3Config(config), weights),
  ],
  WanTransformer3DModel: (config, weights) => wan(readWanConfig(config), weights),
  QwenImageTransformer2DModel: (config, weights) => qwenImage(readQwenImageConfig(config), weights),
  AutoencoderKLQwenImage(json, weights) {
    const config = readAutoencoderWanConfig(json);
    return [wanEncoder(config, weights), wanDecoder(config, weights)];
  },
  AutoencoderKLWan(json, weights) {
    const config = readAutoencoderWanConfig(json);
    const options = { isClip: true };
    return [wanEncoder(config, weights, options), wanDecoder(config, weights, options)];
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
  // Several requests may read parts of one tensor.
  const shapes = new Map(weights.requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  writeTensors(join(folder, 'model.safetensors'), [...shapes]);
  writeJson(join(folder, 'config.json'), { _class_name: className, ...config });
}

function writeJson(path, value) {
  writeFileSync(path, JSON.stringify(value));
}
