// Tiny pipelines with the proportions that files in one piece imply (32 groups, heads as published models have them), as folders in the
// diffusers layout and as the same tensors under their names there.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  autoencoderKLDecoder,
  autoencoderKLEncoder,
} from '../../../src/models/image/autoencoders/autoencoder-kl.ts';
import { readAutoencoderKLConfig } from '../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import { controlNet } from '../../../src/models/image/unet/controlnet.ts';
import { readControlNetConfig } from '../../../src/models/image/unet/controlnet-config.ts';
import { unet } from '../../../src/models/image/unet/unet.ts';
import { readUNetConfig } from '../../../src/models/image/unet/unet-config.ts';
import { clip } from '../../../src/models/text/clip/clip.ts';
import { readClipConfig } from '../../../src/models/text/clip/clip-config.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { randomTensors, writeComponent, type StoredTensors } from './tiny-tensors.ts';
import { wordCount, writeTokenizer, type Words } from './tiny-words.ts';

export type Json = Record<string, unknown>;

export interface TinyPipeline {
  /** The diffusers layout. */
  folder: string;
  tensors: Record<string, StoredTensors>;
}

export const scratch = mkdtempSync(join(tmpdir(), 'svc-files-'));

/** A folder of its own for each model: test files that share a process share `scratch`. */
export const newFolder = (name: string): string => mkdtempSync(join(scratch, `${name}-`));

export const VAE = {
  _class_name: 'AutoencoderKL',
  block_out_channels: [32, 64],
  down_block_types: ['DownEncoderBlock2D', 'DownEncoderBlock2D'],
  up_block_types: ['UpDecoderBlock2D', 'UpDecoderBlock2D'],
  layers_per_block: 1,
  latent_channels: 4,
  norm_num_groups: 32,
};

export const autoencoderTensors = (config: Json, seed: number): StoredTensors => {
  const read = readAutoencoderKLConfig(config);
  return randomTensors(
    [(table) => autoencoderKLDecoder(read, table), (table) => autoencoderKLEncoder(read, table)],
    seed,
  );
};

/** A ControlNet for a UNet of a tiny pipeline. */
export function tinyControlNet(
  of: 'sd1' | 'sdxl',
  seed: number,
  more: Json = {},
): { config: Json; tensors: StoredTensors } {
  const config = {
    _class_name: 'ControlNetModel',
    layers_per_block: 1,
    norm_num_groups: 32,
    conditioning_embedding_out_channels: [16, 32],
    ...(of === 'sd1' ? CONTROL_SD1 : CONTROL_XL),
    ...more,
  };
  const page = (table: WeightTable) => controlNet(readControlNetConfig(config), table);
  return { config, tensors: asStored(config, randomTensors([page], seed)) };
}

const CONTROL_SD1 = {
  block_out_channels: [32, 64],
  down_block_types: ['CrossAttnDownBlock2D', 'DownBlock2D'],
  cross_attention_dim: 64,
  attention_head_dim: 8,
};
const CONTROL_XL = {
  block_out_channels: [64, 128],
  down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D'],
  cross_attention_dim: 128,
  attention_head_dim: [1, 2],
  transformer_layers_per_block: [1, 2],
  use_linear_projection: true,
  addition_embed_type: 'text_time',
  addition_time_embed_dim: 256,
  projection_class_embeddings_input_dim: 64 + 6 * 256,
};

/** Projections around attention are convolutions of 1 × 1 unless the configuration makes them matrices. */
function unetTensors(config: Json, seed: number): StoredTensors {
  return asStored(config, randomTensors([(table) => unet(readUNetConfig(config), table)], seed));
}

function asStored(config: Json, tensors: StoredTensors): StoredTensors {
  const isConv = (name: string): boolean =>
    name.endsWith('conv_shortcut.weight') ||
    /^controlnet_(down_blocks\.\d+|mid_block)\.weight$/.test(name) ||
    (!config['use_linear_projection'] && /\.proj_(in|out)\.weight$/.test(name));
  return new Map(
    [...tensors].map(([name, tensor]) => [
      name,
      isConv(name) ? { ...tensor, shape: [...tensor.shape, 1, 1] } : tensor,
    ]),
  );
}

/** Text encoders by what they are made of: with all words three million numbers each, most of a pipeline's. */
const textEncoders = new Map<string, StoredTensors>();

export function clipTensors(config: Json, className: string, seed: number): StoredTensors {
  const key = JSON.stringify([config, className, seed]);
  const tensors =
    textEncoders.get(key) ?? randomTensors([(table) => clip(readClipConfig(config, className), table)], seed);
  textEncoders.set(key, tensors);
  return tensors;
}

/** `words`: those of the tokenizers. */
export function clipConfig(
  words: Words,
  className: string,
  hidden: number,
  layers: number,
  more: Json = {},
): Json {
  const size = wordCount(words);
  return {
    vocab_size: size,
    eos_token_id: size - 1,
    intermediate_size: 128,
    max_position_embeddings: 77,
    architectures: [className],
    hidden_size: hidden,
    num_attention_heads: hidden / 64,
    num_hidden_layers: layers,
    hidden_act: 'quick_gelu',
    ...more,
  };
}

const UNET = {
  _class_name: 'UNet2DConditionModel',
  norm_num_groups: 32,
  in_channels: 4,
  out_channels: 4,
  layers_per_block: 1,
  block_out_channels: [32, 64],
  down_block_types: ['CrossAttnDownBlock2D', 'DownBlock2D'],
  up_block_types: ['UpBlock2D', 'CrossAttnUpBlock2D'],
};

const SCHEDULE = {
  num_train_timesteps: 1000,
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  steps_offset: 1,
  timestep_spacing: 'leading',
  clip_sample: false,
  set_alpha_to_one: false,
  skip_prk_steps: true,
};

interface Described {
  className: string;
  components: Record<string, { config: Json; tensors: StoredTensors }>;
  scheduler: Json;
  words: Words;
  tokenizers: Record<string, Json>;
  settings?: Json;
}

/** Writes a pipeline whose tokenizers are those of CLIP. */
export function written(
  name: string,
  { className, components, scheduler, words, tokenizers: configs, settings }: Described,
): TinyPipeline {
  const folder = newFolder(name);
  const index: Json = { _class_name: className, ...settings };
  for (const [component, { config, tensors }] of Object.entries(components)) {
    writeComponent(join(folder, component), config, tensors);
    const library = component.startsWith('text') ? 'transformers' : 'diffusers';
    index[component] = [library, config['_class_name'] ?? (config['architectures'] as string[])[0]];
  }
  for (const [component, config] of Object.entries(configs)) {
    writeTokenizer(join(folder, component), words, config);
    index[component] = ['transformers', 'CLIPTokenizer'];
  }
  mkdirSync(join(folder, 'scheduler'));
  writeFileSync(join(folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(scheduler));
  index['scheduler'] = ['diffusers', scheduler['_class_name']];
  writeFileSync(join(folder, 'model_index.json'), JSON.stringify(index));
  const tensors = Object.entries(components).map(([component, one]) => [component, one.tensors] as const);
  return { folder, tensors: Object.fromEntries(tensors) };
}

/** Stable Diffusion 1: a text encoder of OpenAI, projections by convolutions, 8 heads. `channels`: inputs of the UNet. */
export function tinySD1(words: Words = 'few', channels: 4 | 9 = 4): TinyPipeline {
  const unetConfig = {
    ...UNET,
    in_channels: channels,
    cross_attention_dim: 64,
    attention_head_dim: 8,
    sample_size: 64,
  };
  const text = clipConfig(words, 'CLIPTextModel', 64, 2);
  const vae = { ...VAE, scaling_factor: 0.18215 };
  return written(`sd1-${channels}`, {
    className: channels === 9 ? 'StableDiffusionInpaintPipeline' : 'StableDiffusionPipeline',
    components: {
      unet: { config: unetConfig, tensors: unetTensors(unetConfig, 1) },
      vae: { config: vae, tensors: autoencoderTensors(vae, 2) },
      text_encoder: { config: text, tensors: clipTensors(text, 'CLIPTextModel', 3) },
    },
    scheduler: { _class_name: 'PNDMScheduler', ...SCHEDULE },
    words,
    tokenizers: { tokenizer: {} },
  });
}

/** Stable Diffusion 2: a text encoder of OpenCLIP without its last layer, projections by matrices, heads of 64 columns. */
export function tinySD2(prediction: 'epsilon' | 'v_prediction', words: Words = 'few'): TinyPipeline {
  const unetConfig = {
    ...UNET,
    block_out_channels: [64, 128],
    cross_attention_dim: 64,
    attention_head_dim: [1, 2],
    use_linear_projection: true,
    sample_size: prediction === 'epsilon' ? 64 : 96,
  };
  const text = clipConfig(words, 'CLIPTextModel', 64, 23, { hidden_act: 'gelu', intermediate_size: 64 });
  const vae = { ...VAE, scaling_factor: 0.18215 };
  return written(`sd2-${prediction}`, {
    className: 'StableDiffusionPipeline',
    components: {
      unet: { config: unetConfig, tensors: unetTensors(unetConfig, 4) },
      vae: { config: vae, tensors: autoencoderTensors(vae, 5) },
      text_encoder: { config: text, tensors: clipTensors(text, 'CLIPTextModel', 6) },
    },
    scheduler: { _class_name: 'DDIMScheduler', ...SCHEDULE, prediction_type: prediction },
    words,
    tokenizers: { tokenizer: { pad_token: '!' } },
  });
}

/** Stable Diffusion XL: both text encoders, sizes and pooled text in the UNet. Its refiner has the second encoder and one size fewer. */
export function tinyXL({
  words = 'few',
  refiner = false,
  name = 'sdxl',
}: { words?: Words; refiner?: boolean; name?: string } = {}): TinyPipeline {
  const unetConfig = {
    ...UNET,
    block_out_channels: [64, 128],
    down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D'],
    up_block_types: ['CrossAttnUpBlock2D', 'UpBlock2D'],
    cross_attention_dim: refiner ? 64 : 128,
    attention_head_dim: [1, 2],
    transformer_layers_per_block: [1, 2],
    use_linear_projection: true,
    addition_embed_type: 'text_time',
    addition_time_embed_dim: 256,
    projection_class_embeddings_input_dim: 64 + (refiner ? 5 : 6) * 256,
    sample_size: 128,
  };
  const first = clipConfig(words, 'CLIPTextModel', 64, 2);
  const projected = { projection_dim: 64, hidden_act: 'gelu' };
  const second = clipConfig(words, 'CLIPTextModelWithProjection', 64, 2, projected);
  const vae = { ...VAE, scaling_factor: 0.13025 };
  return written(name, {
    className: refiner ? 'StableDiffusionXLImg2ImgPipeline' : 'StableDiffusionXLPipeline',
    components: {
      unet: { config: unetConfig, tensors: unetTensors(unetConfig, 7) },
      vae: { config: vae, tensors: autoencoderTensors(vae, 8) },
      ...(!refiner && { text_encoder: { config: first, tensors: clipTensors(first, 'CLIPTextModel', 9) } }),
      text_encoder_2: { config: second, tensors: clipTensors(second, 'CLIPTextModelWithProjection', 10) },
    },
    scheduler: { _class_name: 'EulerDiscreteScheduler', ...SCHEDULE, prediction_type: 'epsilon' },
    words,
    tokenizers: { ...(!refiner && { tokenizer: {} }), tokenizer_2: { pad_token: '!' } },
    settings: { force_zeros_for_empty_prompt: !refiner },
  });
}
