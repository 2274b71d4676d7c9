// A tiny pipeline of Stable Diffusion 3.5 medium with the proportions that files in one piece imply: heads of 64 columns, two attentions in the
// first block, and T5 with a width of whole blocks of FP8.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sd3, sd3Places } from '../../../src/models/image/sd3.ts';
import { readSD3Config } from '../../../src/models/image/sd3-config.ts';
import { t5 } from '../../../src/models/text/t5/t5.ts';
import { readT5Config } from '../../../src/models/text/t5/t5-config.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import {
  autoencoderTensors,
  clipConfig,
  clipTensors,
  VAE,
  written,
  type Json,
  type TinyPipeline,
} from './tiny-pipelines.ts';
import { randomTensors, type StoredTensors } from './tiny-tensors.ts';
import type { Words } from './tiny-words.ts';

const TRANSFORMER: Json = {
  _class_name: 'SD3Transformer2DModel',
  sample_size: 128,
  in_channels: 16,
  out_channels: 16,
  num_layers: 2,
  attention_head_dim: 64,
  num_attention_heads: 2,
  caption_projection_dim: 128,
  joint_attention_dim: 128,
  pooled_projection_dim: 128,
  pos_embed_max_size: 12,
  dual_attention_layers: [0],
  qk_norm: 'rms_norm',
};
const AUTOENCODER: Json = {
  ...VAE,
  latent_channels: 16,
  use_quant_conv: false,
  use_post_quant_conv: false,
  scaling_factor: 1.5305,
  shift_factor: 0.0609,
};
const T5: Json = {
  architectures: ['T5EncoderModel'],
  model_type: 't5',
  vocab_size: 240,
  d_model: 128,
  d_kv: 64,
  d_ff: 128,
  num_layers: 2,
  num_heads: 2,
  relative_attention_num_buckets: 32,
  relative_attention_max_distance: 128,
  feed_forward_proj: 'gated-gelu',
  layer_norm_epsilon: 1e-6,
};
const CLIP_CLASS = 'CLIPTextModelWithProjection';

type Change = (tensors: StoredTensors) => StoredTensors;

/** `values`: changes those of a component. */
export function tinySD3({
  name,
  words = 'few',
  values = {},
}: {
  name: string;
  words?: Words;
  values?: { transformer?: Change; text_encoder_3?: Change };
}): TinyPipeline {
  const config = readSD3Config(TRANSFORMER);
  const pages = [sd3, sd3Places].map((page) => (table: Parameters<typeof sd3>[1]) => page(config, table));
  const drawn = randomTensors(pages, 51);
  const places = drawn.get('pos_embed.pos_embed')!;
  const transformer = new Map(drawn).set(places.name, { ...places, shape: [1, ...places.shape] });
  const encoder = randomTensors([(table) => t5(readT5Config(T5), table)], 55);
  const clip = clipConfig(words, CLIP_CLASS, 64, 2, { projection_dim: 64 });
  const pipeline = written(name, {
    className: 'StableDiffusion3Pipeline',
    components: {
      transformer: { config: TRANSFORMER, tensors: values.transformer?.(transformer) ?? transformer },
      vae: { config: AUTOENCODER, tensors: autoencoderTensors(AUTOENCODER, 52) },
      text_encoder: { config: clip, tensors: clipTensors(clip, CLIP_CLASS, 53) },
      text_encoder_2: { config: clip, tensors: clipTensors(clip, CLIP_CLASS, 54) },
      text_encoder_3: { config: T5, tensors: values.text_encoder_3?.(encoder) ?? encoder },
    },
    scheduler: { _class_name: 'FlowMatchEulerDiscreteScheduler', num_train_timesteps: 1000, shift: 3 },
    words,
    tokenizers: { tokenizer: {}, tokenizer_2: { pad_token: '!' } },
  });
  const { folder } = pipeline;
  cpSync(join(tinyPipeline('flux'), 'tokenizer_2'), join(folder, 'tokenizer_3'), { recursive: true });
  const file = join(folder, 'model_index.json');
  const index = JSON.parse(readFileSync(file, 'utf8')) as Json;
  writeFileSync(file, JSON.stringify({ ...index, tokenizer_3: ['transformers', 'T5TokenizerFast'] }));
  return pipeline;
}
