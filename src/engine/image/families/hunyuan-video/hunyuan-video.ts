// HunyuanVideo 1.5, which draws clips from a text, or from a text and the image of their first frame.

import { roundHalfEven } from '../../schedules/spacing.ts';
import type { ComponentFiles, ImageFamily, ImpliedDefaults } from '../../blocks/family.ts';
import {
  denoiser,
  QWEN_TOKENIZER,
  SCHEDULER,
  T5_ENCODER,
  textEncoder,
  tokenizer,
  TRANSFORMER_FAMILY,
} from '../../blocks/shared-components.ts';
import { CLIPS, SIGMAS, type CallArgumentTable } from '../../calls/call-arguments.ts';
import type { Size } from '../../calls/image-model.ts';
import { decoderLora, DOUBLE_ATTENTION, transformerLora } from '../../layouts/lora-names.ts';
import { openHunyuanVideo } from './hunyuan-video-model.ts';

const { guidance_scale: _, ...ARGUMENTS }: CallArgumentTable = { ...CLIPS, ...SIGMAS };
const { width: _width, height: _height, ...IMAGE_ARGUMENTS } = ARGUMENTS;

/** Proportions of clips that are drawn from a text. */
const WIDE: Size = { width: 16, height: 9 };
/** Side of a square of the model for 480p. */
const TARGET = 640;
const MOST_RATIO = 4;
const USUAL_GUIDANCE = 7.5;

/**
 * The size nearest to an image's proportions among those of at most as many cells as a square. `side`, `cell`: pixels. source: diffusers'
 * pipelines/hunyuan_video1_5/image_processor.py
 */
export function nearestSize(image: Size, side: number, cell: number): Size {
  const most = roundHalfEven((side / cell) ** 2);
  const ratio = image.height / image.width;
  const rounded = (value: number): number => Number(value.toFixed(5));
  let best = { width: most, height: 1, distance: Infinity };
  // From the tallest to the widest.
  let width = 1;
  for (let height = most; height > 0;) {
    const own = rounded(height / width);
    // A size is at most as far from a square as the image is.
    const fits = ratio >= 1 ? own <= ratio : own >= ratio;
    const distance = Math.abs(own - ratio);
    const isWithin = Math.max(width, height) / Math.min(width, height) <= MOST_RATIO;
    if (isWithin && fits && distance < best.distance) best = { width, height, distance };
    if ((width + 1) * height <= most) width++;
    else height--;
  }
  return { width: best.width * cell, height: best.height * cell };
}

/** The side of the square that a default size was found for, which has at most so many more cells. */
const sideOf = (pixels: number, cell: number): number => cell * Math.ceil(Math.sqrt(pixels) / cell);

function defaultsOf({ transformer, vae, guider }: ComponentFiles): ImpliedDefaults {
  const { target_size: side = TARGET } = transformer?.config ?? {};
  const { spatial_compression_ratio: cell = 16 } = vae?.config ?? {};
  const { guidance_scale: guidance = USUAL_GUIDANCE } = guider?.config ?? {};
  const defaults = { guidance: Number(guidance), ...nearestSize(WIDE, Number(side), Number(cell)) };
  return { certain: { defaults, from: 'its guider and target_size' } };
}

export const hunyuanVideo: ImageFamily = {
  ...TRANSFORMER_FAMILY,
  name: 'hunyuan-video',
  examples: 'HunyuanVideo 1.5 480p and 720p, T2V and I2V',
  modelIds: /hunyuan-?video-?1[._]?5/i,
  components: {
    text_encoder: textEncoder('Qwen2_5_VLTextModel', 'Qwen2_5_VLForConditionalGeneration'),
    tokenizer: QWEN_TOKENIZER,
    text_encoder_2: T5_ENCODER,
    tokenizer_2: tokenizer('ByT5Tokenizer'),
    transformer: denoiser('HunyuanVideo15Transformer3DModel'),
    vae: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKLHunyuanVideo15'] },
    scheduler: SCHEDULER,
    guider: { kind: 'guider', library: 'diffusers', classes: ['ClassifierFreeGuidance'] },
  },
  latents: { patch: 1 },
  pipelines: [
    {
      classes: { 'text-to-image': 'HunyuanVideo15Pipeline' },
      strength: 'ceil',
      callArguments: () => ARGUMENTS,
    },
    {
      classes: { 'image-to-image': 'HunyuanVideo15ImageToVideoPipeline' },
      components: {
        image_encoder: {
          kind: 'model',
          library: 'transformers',
          classes: ['SiglipVisionModel'],
          role: 'image encoder',
          beside: 'feature_extractor',
        },
      },
      references: {
        most: 1,
        isFrames: true,
        cuts: true,
        sizeOf: (image, pixels, multiple) => nearestSize(image, sideOf(pixels, multiple), multiple),
      },
      strength: 'ceil',
      callArguments: () => IMAGE_ARGUMENTS,
    },
  ],
  defaults: { frames: 121, fps: 24, steps: 50, guidance: USUAL_GUIDANCE, ...nearestSize(WIDE, TARGET, 16) },
  defaultsOf,
  takes: ['flowShift'],
  lora: {
    parts: [transformerLora(), decoderLora('text_encoder')],
    signs: [{ models: 'HunyuanVideo 1.5', module: DOUBLE_ATTENTION, width: 2048 }],
  },
  open: openHunyuanVideo,
};
