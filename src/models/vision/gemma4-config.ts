// Converts the configurations of Gemma 4's vision tower and of its processors. Only this file knows the key names.

import { readConfig, shown, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import { checkSteps, type PixelValues } from './pixel-values.ts';

export interface Gemma4VisionConfig {
  layers: number;
  hidden: number;
  ffn: number;
  heads: number;
  kvHeads: number;
  /** Dimensions of a head, of which each half turns by itself. */
  dims: number;
  /** Pixels along a side of a patch. */
  patch: number;
  /** Patches along a side of the square of which a row is the mean. */
  pooled: number;
  /** Learned positions along a side. */
  positions: number;
  theta: number;
  eps: number;
  /** Whether linear layers clamp what they take and give. */
  clipped: boolean;
  /** Whether means are centred and scaled by what the checkpoint holds. */
  standardized: boolean;
  /** Columns of the result. */
  out: number;
}

/** How a processor sees an image, or a frame. */
export interface Gemma4ImageConfig extends PixelValues {
  patch: number;
  pooled: number;
  /** The most rows of an image. */
  most: number;
}

/** Values that transformers' processors take. */
const ROWS = [70, 140, 280, 560, 1120];

/** Throws unsupported for settings that are not computed. */
export function readGemma4Vision({ config: json, hidden: out }: MediaFiles): Gemma4VisionConfig {
  const config = readConfig('config.json', json).part('vision_config');
  config.only({
    model_type: ['gemma4_vision'],
    hidden_activation: ['gelu_pytorch_tanh'],
    attention_bias: [false],
  });
  const rope = config.part('rope_parameters');
  rope.only({ rope_type: ['axial', 'default'] });
  const hidden = config.count('hidden_size', 768);
  const heads = config.count('num_attention_heads', 12);
  const dims = config.count('head_dim', 64);
  if (dims % 4 !== 0)
    throw config.error('unsupported', 'head_dim', `is ${dims}, and only multiples of 4 are built`);
  return {
    layers: config.count('num_hidden_layers', 16),
    hidden,
    ffn: config.count('intermediate_size', 3072),
    heads,
    kvHeads: config.count('num_key_value_heads', 12),
    dims,
    patch: config.count('patch_size', 16),
    pooled: config.count('pooling_kernel_size', 3),
    positions: config.count('position_embedding_size', 10240),
    theta: rope.real('rope_theta', 100),
    eps: config.real('rms_norm_eps', 1e-6),
    clipped: config.flag('use_clipped_linears', false),
    standardized: config.flag('standardize', false),
    out,
  };
}

/** `isCentred`: whether the tower reads twice the distance of a value from a half, in place of the value. */
export function readGemma4Images(
  { processors }: Pick<MediaFiles, 'processors'>,
  kind: 'image' | 'video',
  { patch, pooled }: Pick<Gemma4VisionConfig, 'patch' | 'pooled'>,
  isCentred = true,
): { processor: ConfigReader; images: Gemma4ImageConfig } {
  const [part, file] =
    kind === 'image'
      ? ['image_processor', 'preprocessor_config.json']
      : ['video_processor', 'video_preprocessor_config.json'];
  const processor = processorPart(processors, part, file);
  checkSteps(processor, 'bicubic', { do_convert_rgb: [true], do_normalize: [true, false] });
  for (const [key, own] of [
    ['patch_size', patch],
    ['pooling_kernel_size', pooled],
  ] as const) {
    const stated = processor.count(key, key === 'patch_size' ? 16 : 3);
    if (stated !== own)
      throw processor.error('bad_checkpoint', key, `is ${stated}, and the tower takes ${own}`);
  }
  const most = processor.count('max_soft_tokens', kind === 'image' ? 280 : 70);
  if (!ROWS.includes(most))
    throw processor.error('bad_checkpoint', 'max_soft_tokens', `is ${most}, ${shown(ROWS)} are possible`);
  return { processor, images: { patch, pooled, most, ...readValues(processor, kind, isCentred) } };
}

/** Videos are normalized unless the processor says otherwise, images are not. */
function readValues(processor: ConfigReader, kind: 'image' | 'video', isCentred: boolean): PixelValues {
  const scale = processor.real('rescale_factor', 1 / 255);
  const isNormalized = processor.flag('do_normalize', kind === 'video');
  const [means, spreads] = isNormalized
    ? [processor.reals('image_mean', 3), processor.reals('image_std', 3)]
    : [null, null];
  const each = (i: number) => ({ mean: means?.[i] ?? 0, spread: spreads?.[i] ?? 1 });
  const half = isCentred ? 0.5 : 0;
  return {
    scale,
    means: [0, 1, 2].map((i) => each(i).mean + each(i).spread * half),
    spreads: [0, 1, 2].map((i) => each(i).spread * (1 - half)),
  };
}
