// Families of pipelines: what a pipeline's class and name say about how it is used. A checkpoint's own numbers come first;
// these stand in where it has none.

import { EngineError } from '../../files/error.ts';

/** How the prediction with the prompt (pos) and that without (neg) are combined at guidance g. */
export type Guidance =
  /** neg + g · (pos − neg); off at 1 and below */
  | 'from-negative'
  /** pos + g · (pos − neg); off at 0 */
  | 'from-positive';

export interface Family {
  name: 'stable-diffusion' | 'stable-diffusion-xl' | 'z-image';
  /** Component that denoises. */
  denoiser: 'unet' | 'transformer';
  guidance: Guidance;
  /** Width and height are multiples of it. */
  sizeMultiple: number;
  /** Channels of the picture's latents are not always the denoiser's: an inpainting UNet takes nine. */
  defaults: { steps?: number; guidance?: number; size?: number };
}

const STABLE_DIFFUSION: Family = {
  name: 'stable-diffusion',
  denoiser: 'unet',
  guidance: 'from-negative',
  sizeMultiple: 8,
  defaults: {},
};
const XL: Family = {
  name: 'stable-diffusion-xl',
  denoiser: 'unet',
  guidance: 'from-negative',
  sizeMultiple: 8,
  defaults: { guidance: 5 },
};
const LATENT_CONSISTENCY: Family = { ...STABLE_DIFFUSION, defaults: { steps: 4, guidance: 8.5 } };
const Z_IMAGE: Family = {
  name: 'z-image',
  denoiser: 'transformer',
  guidance: 'from-positive',
  sizeMultiple: 16,
  defaults: { steps: 50, guidance: 5, size: 1024 },
};

/** By diffusers' class. */
const PIPELINES: Readonly<Record<string, Family>> = {
  StableDiffusionPipeline: STABLE_DIFFUSION,
  StableDiffusionImg2ImgPipeline: STABLE_DIFFUSION,
  StableDiffusionInpaintPipeline: STABLE_DIFFUSION,
  LatentConsistencyModelPipeline: LATENT_CONSISTENCY,
  LatentConsistencyModelImg2ImgPipeline: LATENT_CONSISTENCY,
  StableDiffusionXLPipeline: XL,
  StableDiffusionXLImg2ImgPipeline: XL,
  StableDiffusionXLInpaintPipeline: XL,
  ZImagePipeline: Z_IMAGE,
  ZImageImg2ImgPipeline: Z_IMAGE,
};

export const PIPELINE_CLASSES = Object.keys(PIPELINES);

/** Few-step models say so in their names only: [name, where the family is one of these, what they want]. */
const DISTILLED: readonly [RegExp, Family['name'][], Family['defaults']][] = [
  [/z-image.*turbo/i, ['z-image'], { steps: 8, guidance: 0, size: 1024 }],
  [/sdxl-turbo/i, ['stable-diffusion-xl'], { steps: 1, guidance: 0, size: 512 }],
  [/sd-turbo/i, ['stable-diffusion'], { steps: 1, guidance: 0, size: 512 }],
  [/lightning|hyper|dmd2/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 0 }],
  [/\blcm\b/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 1 }],
];

/** The family of a pipeline's class; `name` is the folder or hub id, or what --model-id gives in its place. */
export function familyOf(pipelineClass: string, name: string): Family {
  const family = PIPELINES[pipelineClass];
  if (!family) {
    throw new EngineError(
      'unsupported',
      `the pipeline class ${pipelineClass} does not run here; those that do are ${PIPELINE_CLASSES.join(', ')}`,
      { param: 'pipeline_class_name' },
    );
  }
  const distilled = DISTILLED.find(([names, families]) => names.test(name) && families.includes(family.name));
  return distilled ? { ...family, defaults: { ...family.defaults, ...distilled[2] } } : family;
}
