// Stable Diffusion 1.x and 2.x, and the latent consistency models distilled from them: one CLIP text encoder, a UNet.

import { STABLE_DIFFUSION_FILES } from './stable-diffusion-layout.ts';
import { clipLora, ONLY_CLIP, TO_KEYS, UNET_LORA, FIRST_UNETS } from '../../layouts/lora-names.ts';
import type { ImageFamily, PipelineComponents } from '../../blocks/family.ts';
import {
  AUTOENCODER,
  CLIP_TOKENIZERS,
  CONTROLNET,
  denoiser,
  IMAGE_PROMPT,
  SCHEDULER,
  textEncoder,
  classesOf,
  UNET_FAMILY,
} from '../../blocks/shared-components.ts';
import { controlArguments, lcmArguments, sdArguments } from './unet-arguments.ts';
import { correctScheduler, FEW_STEP_NAMES, sampleSizeOf, unetDefaults } from './unet-defaults.ts';
import { openUNetModel } from './unet-model.ts';

export const CLIP_ENCODERS = textEncoder('CLIPTextModel', 'CLIPTextModelWithProjection');

export const UNET_AND_VAE: PipelineComponents = {
  unet: {
    ...denoiser('UNet2DConditionModel'),
    refused: {
      UNet2DModel:
        'draws without a text, or a class of images: this version runs UNets with a text encoder (UNet2DConditionModel)',
    },
  },
  vae: AUTOENCODER,
  scheduler: SCHEDULER,
  ...IMAGE_PROMPT,
};

export const stableDiffusion: ImageFamily = {
  ...UNET_FAMILY,
  name: 'stable-diffusion',
  examples: '1.x, 2.x, turbo, LCM, inpainting with 4 or 9 channels',
  modelIds: /stable-?diffusion|\bsd[-_]?v?[12]/i,
  components: { text_encoder: CLIP_ENCODERS, tokenizer: CLIP_TOKENIZERS, ...UNET_AND_VAE },
  pipelines: [
    {
      classes: classesOf('StableDiffusion'),
      strength: 'floor',
      callArguments: sdArguments,
      correctScheduler,
    },
    {
      classes: {
        'text-to-image': 'LatentConsistencyModelPipeline',
        'image-to-image': 'LatentConsistencyModelImg2ImgPipeline',
      },
      strength: 'spread',
      callArguments: lcmArguments,
      defaults: { steps: 4, guidance: 8.5 },
    },
    {
      classes: classesOf('StableDiffusionControlNet'),
      components: { controlnet: CONTROLNET },
      controlScale: { 'image-to-image': 0.8, inpainting: 0.5 },
      strength: 'floor',
      callArguments: controlArguments,
      correctScheduler,
    },
  ],
  defaults: {},
  namedDefaults: [
    [/sd[-_]turbo/i, { steps: 1, guidance: 0, size: 512 }],
    [/LatentConsistencyModel/, { steps: 4, guidance: 8.5 }],
    ...FEW_STEP_NAMES,
  ],
  defaultsOf: unetDefaults,
  lora: {
    parts: [UNET_LORA, clipLora('text_encoder', { nth: 1, original: 'clip_l' })],
    signs: [
      { models: 'Stable Diffusion 1', module: TO_KEYS, columns: 768 },
      { models: 'Stable Diffusion 2', module: TO_KEYS, columns: 1024 },
      FIRST_UNETS,
      { models: 'Stable Diffusion 1', module: ONLY_CLIP, width: 768, isVague: true },
      { models: 'Stable Diffusion 2', module: ONLY_CLIP, width: 1024, isVague: true },
    ],
  },
  files: STABLE_DIFFUSION_FILES,
  open: (components) =>
    openUNetModel(components, {
      xl: false,
      zerosNegative: false,
      sampleSize: sampleSizeOf,
    }),
};
