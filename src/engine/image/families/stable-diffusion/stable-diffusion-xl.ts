// Stable Diffusion XL, its refiner included: two CLIP text encoders (the refiner has the second alone), a UNet with size embeddings.

import { STABLE_DIFFUSION_XL_FILES } from './stable-diffusion-layout.ts';
import { ANY_UNET, clipLora, DEEP_UNET, TO_KEYS, UNET_LORA } from '../../layouts/lora-names.ts';
import type { ImageFamily } from '../../blocks/family.ts';
import {
  CLIP_TOKENIZERS,
  CONTROLNET,
  textEncoder,
  classesOf,
  UNET_FAMILY,
} from '../../blocks/shared-components.ts';
import { CLIP_ENCODERS, UNET_AND_VAE } from './stable-diffusion.ts';
import { xlArguments, xlControlArguments } from './unet-arguments.ts';
import { FEW_STEP_NAMES, unetDefaults } from './unet-defaults.ts';
import { openUNetModel } from './unet-model.ts';

export const stableDiffusionXL: ImageFamily = {
  ...UNET_FAMILY,
  name: 'stable-diffusion-xl',
  examples: 'XL, turbo, refiner, Playground v2 and v2.5',
  modelIds: /sdxl|stable-diffusion-xl|[-_]xl\b/i,
  components: {
    text_encoder: { ...CLIP_ENCODERS, optional: true },
    tokenizer: { ...CLIP_TOKENIZERS, optional: true },
    text_encoder_2: textEncoder('CLIPTextModelWithProjection'),
    tokenizer_2: CLIP_TOKENIZERS,
    ...UNET_AND_VAE,
  },
  pipelines: [
    {
      classes: classesOf('StableDiffusionXL'),
      strength: 'floor',
      callArguments: xlArguments,
    },
    {
      classes: classesOf('StableDiffusionXLControlNet'),
      components: { controlnet: CONTROLNET },
      controlScale: { 'image-to-image': 0.8 },
      strength: 'floor',
      callArguments: xlControlArguments,
    },
  ],
  defaults: { guidance: 5 },
  namedDefaults: [[/sd[-_]?xl[-_]turbo/i, { steps: 1, guidance: 0, size: 512 }], ...FEW_STEP_NAMES],
  defaultsOf: unetDefaults,
  lora: {
    parts: [
      UNET_LORA,
      clipLora('text_encoder', { nth: 1, original: 'clip_l' }),
      clipLora('text_encoder_2', { nth: 2, original: 'clip_g' }),
    ],
    signs: [
      { models: 'Stable Diffusion XL', module: TO_KEYS, columns: 2048 },
      { models: "Stable Diffusion XL's refiner", module: TO_KEYS, columns: 1280 },
      { models: 'Stable Diffusion XL', module: DEEP_UNET, isVague: true },
      ANY_UNET,
    ],
  },
  files: STABLE_DIFFUSION_XL_FILES,
  open: (components, { settings }) =>
    openUNetModel(components, {
      xl: true,
      zerosNegative: settings['force_zeros_for_empty_prompt'] !== false,
      sampleSize: (_, size) => size,
    }),
};
