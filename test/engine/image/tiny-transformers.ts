// Tiny pipelines of transformers with the proportions that files in one piece imply; their text encoders' tokenizers are those of the tiny goldens.

import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { QWEN_IMAGE_FILES } from '../../../src/engine/image/families/qwen-image/qwen-image-layout.ts';
import { wanDecoder, wanEncoder } from '../../../src/models/image/autoencoders/autoencoder-wan.ts';
import { readAutoencoderWanConfig } from '../../../src/models/image/autoencoders/autoencoder-wan-config.ts';
import { flux } from '../../../src/models/image/flux.ts';
import { readFluxConfig } from '../../../src/models/image/flux-config.ts';
import { qwenImage } from '../../../src/models/image/qwen-image.ts';
import { readQwenImageConfig } from '../../../src/models/image/qwen-image-config.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { t5 } from '../../../src/models/text/t5/t5.ts';
import { readT5Config } from '../../../src/models/text/t5/t5-config.ts';
import { textHalf } from '../../../src/models/text/wrappers.ts';
import { zImage } from '../../../src/models/image/z-image.ts';
import { readZImageConfig } from '../../../src/models/image/z-image-config.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { randomTensors, writeComponent, type StoredTensors } from './tiny-tensors.ts';
import type { Words } from './tiny-words.ts';
import {
  autoencoderTensors,
  newFolder,
  tinySD1,
  VAE,
  type Json,
  type TinyPipeline,
} from './tiny-pipelines.ts';

/** Z-Image: a transformer with heads of 32 columns; text encoder and tokenizer are those of the tiny golden. */
export function tinyZImage(
  name = 'z-image',
  values?: (tensors: StoredTensors) => StoredTensors,
): TinyPipeline {
  const config = {
    _class_name: 'ZImageTransformer2DModel',
    dim: 96,
    in_channels: 16,
    n_heads: 3,
    n_kv_heads: 3,
    n_layers: 1,
    n_refiner_layers: 1,
    cap_feat_dim: 64,
    axes_dims: [8, 12, 12],
    axes_lens: [1536, 512, 512],
  };
  const vae = {
    ...VAE,
    latent_channels: 16,
    use_quant_conv: false,
    use_post_quant_conv: false,
    scaling_factor: 0.3611,
    shift_factor: 0.1159,
  };
  const drawn = randomTensors([(table) => zImage(readZImageConfig(config), table)], 11);
  const transformer = values?.(drawn) ?? drawn;
  const folder = newFolder(name);
  cpSync(tinyPipeline('z-image'), folder, { recursive: true });
  const replace = (component: string, settings: Json, tensors: StoredTensors): void => {
    rmSync(join(folder, component), { recursive: true });
    writeComponent(join(folder, component), settings, tensors);
  };
  const autoencoder = autoencoderTensors(vae, 12);
  replace('transformer', config, transformer);
  replace('vae', vae, autoencoder);
  const scheduler = { _class_name: 'FlowMatchEulerDiscreteScheduler', num_train_timesteps: 1000, shift: 3 };
  writeFileSync(join(folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(scheduler));
  return { folder, tensors: { transformer, vae: autoencoder } };
}

export interface TinyFlux {
  name?: string;
  /** Those of CLIP. */
  words?: Words;
  /** FLUX.1 Fill, which takes a mask. */
  fills?: boolean;
  /** Changes the tensors of a component. */
  values?: Partial<Record<'transformer' | 'text_encoder_2', (tensors: StoredTensors) => StoredTensors>>;
}

/** FLUX.1: heads of 32 columns; CLIP is that of the tiny Stable Diffusion 1, T5's tokenizer that of the golden. */
export function tinyFlux({
  name = 'flux',
  words = 'few',
  fills = false,
  values = {},
}: TinyFlux = {}): TinyPipeline {
  const config = {
    _class_name: 'FluxTransformer2DModel',
    patch_size: 1,
    in_channels: fills ? 144 : 64,
    out_channels: 64,
    num_layers: 1,
    num_single_layers: 1,
    attention_head_dim: 32,
    num_attention_heads: 2,
    joint_attention_dim: 48,
    pooled_projection_dim: 64,
    guidance_embeds: true,
    axes_dims_rope: [4, 14, 14],
  };
  const vae = {
    ...VAE,
    latent_channels: 16,
    use_quant_conv: false,
    use_post_quant_conv: false,
    scaling_factor: 0.3611,
    shift_factor: 0.1159,
  };
  const text = {
    architectures: ['T5EncoderModel'],
    model_type: 't5',
    vocab_size: 240,
    d_model: 48,
    d_kv: 12,
    d_ff: 80,
    num_layers: 2,
    num_heads: 5,
    relative_attention_num_buckets: 12,
    relative_attention_max_distance: 128,
    feed_forward_proj: 'gated-gelu',
    layer_norm_epsilon: 1e-6,
  };
  const transformer = randomTensors([(table) => flux(readFluxConfig(config), table)], 31);
  const encoder = randomTensors([(table) => t5(readT5Config(text), table)], 33);
  const tensors = {
    transformer: values.transformer?.(transformer) ?? transformer,
    vae: autoencoderTensors(vae, 32),
    text_encoder_2: values.text_encoder_2?.(encoder) ?? encoder,
  };
  const folder = newFolder(name);
  cpSync(tinyPipeline('flux'), folder, { recursive: true });
  if (fills) cpSync(tinyPipeline('flux-fill'), folder, { recursive: true });
  const { folder: clip } = tinySD1(words);
  for (const component of ['tokenizer', 'text_encoder'])
    cpSync(join(clip, component), join(folder, component), { recursive: true });
  for (const [component, settings] of Object.entries({ transformer: config, vae, text_encoder_2: text })) {
    rmSync(join(folder, component), { recursive: true, force: true });
    writeComponent(join(folder, component), settings, tensors[component as keyof typeof tensors]);
  }
  const scheduler = {
    _class_name: 'FlowMatchEulerDiscreteScheduler',
    num_train_timesteps: 1000,
    shift: 3,
    use_dynamic_shifting: true,
  };
  writeFileSync(join(folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(scheduler));
  return { folder, tensors };
}

/** Qwen-Image: heads of 128 columns in the language model, and latents of 16 channels; the tokenizer is that of the tiny golden. */
export function tinyQwenImage(): TinyPipeline {
  const config = {
    _class_name: 'QwenImageTransformer2DModel',
    num_layers: 1,
    attention_head_dim: 32,
    num_attention_heads: 2,
    joint_attention_dim: 256,
    axes_dims_rope: [4, 14, 14],
  };
  const vae = {
    _class_name: 'AutoencoderKLQwenImage',
    base_dim: 8,
    dim_mult: [1, 2],
    temperal_downsample: [false],
    num_res_blocks: 1,
    ...QWEN_IMAGE_FILES.configs['vae'],
  };
  const text = {
    architectures: ['Qwen2_5_VLForConditionalGeneration'],
    model_type: 'qwen2_5_vl',
    text_config: {
      model_type: 'qwen2_5_vl_text',
      vocab_size: 472,
      hidden_size: 256,
      intermediate_size: 96,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      num_key_value_heads: 1,
      rms_norm_eps: 1e-6,
      rope_theta: 1_000_000,
      max_position_embeddings: 2048,
      rope_scaling: { type: 'default', rope_type: 'default', mrope_section: [16, 24, 24] },
      tie_word_embeddings: false,
    },
    vision_config: {},
  };
  const half = textHalf(text, text.architectures[0]!)!;
  const language = readText(half.config, half.architecture);
  const readVae = readAutoencoderWanConfig(vae);
  const tensors = {
    transformer: randomTensors([(table) => qwenImage(readQwenImageConfig(config), table)], 21),
    vae: randomTensors([(table) => wanDecoder(readVae, table), (table) => wanEncoder(readVae, table)], 22),
    text_encoder: randomTensors([(table) => language.embed!(table)], 23),
  };
  const folder = newFolder('qwen-image');
  cpSync(tinyPipeline('qwen-image'), folder, { recursive: true });
  for (const [component, settings] of Object.entries({ transformer: config, vae, text_encoder: text })) {
    rmSync(join(folder, component), { recursive: true });
    writeComponent(join(folder, component), settings, tensors[component as keyof typeof tensors]);
  }
  const scheduler = {
    _class_name: 'FlowMatchEulerDiscreteScheduler',
    num_train_timesteps: 1000,
    shift: 1,
    use_dynamic_shifting: true,
    base_shift: 0.5,
    max_shift: 0.9,
    base_image_seq_len: 256,
    max_image_seq_len: 8192,
    shift_terminal: 0.02,
    time_shift_type: 'exponential',
  };
  writeFileSync(join(folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(scheduler));
  return { folder, tensors };
}
