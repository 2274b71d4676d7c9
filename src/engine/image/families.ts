// Families of pipelines: what a pipeline's class and name say about how it is used. A checkpoint's own numbers come first;
// these stand in where it has none.

import { classOfModelId, type PipelineFamily } from '../../files/pipeline-classes.ts';

export interface Family {
  name: PipelineFamily;
  /** Component that denoises. */
  denoiser: 'unet' | 'transformer';
  /** Latents along a side of what the denoiser takes as one. */
  patch: number;
  /** What a checkpoint's files do not tell. */
  defaults: { steps?: number; guidance?: number; size?: number };
}

const FAMILIES: Readonly<Record<PipelineFamily, Family>> = {
  'stable-diffusion': {
    name: 'stable-diffusion',
    denoiser: 'unet',
    patch: 1,
    defaults: {},
  },
  'stable-diffusion-xl': {
    name: 'stable-diffusion-xl',
    denoiser: 'unet',
    patch: 1,
    defaults: { guidance: 5 },
  },
  'z-image': {
    name: 'z-image',
    denoiser: 'transformer',
    patch: 2,
    defaults: { steps: 50, guidance: 5, size: 1024 },
  },
};

/** Few-step models say so in their class or name only: [which, where the family is one of these, what they want]. */
const DISTILLED: readonly [RegExp, PipelineFamily[], Family['defaults']][] = [
  [/z-image.*turbo/i, ['z-image'], { steps: 8, guidance: 0, size: 1024 }],
  [/sdxl-turbo/i, ['stable-diffusion-xl'], { steps: 1, guidance: 0, size: 512 }],
  [/sd-turbo/i, ['stable-diffusion'], { steps: 1, guidance: 0, size: 512 }],
  [/LatentConsistencyModel/, ['stable-diffusion'], { steps: 4, guidance: 8.5 }],
  [/lightning|\bhyper\b|dmd2/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 0 }],
  [/\blcm\b/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 1 }],
];

/** Whether a name tells anything of a model. */
export function isTelling(name: string): boolean {
  return classOfModelId(name) !== null || DISTILLED.some(([which]) => which.test(name));
}

/** The family of a pipeline; `name` is the model's own, or what --model-id gives in its place. */
export function familyOf(pipeline: { family: PipelineFamily; className: string }, name: string): Family {
  const family = FAMILIES[pipeline.family];
  const distilled = DISTILLED.find(
    ([which, families]) =>
      families.includes(family.name) && (which.test(name) || which.test(pipeline.className)),
  );
  return distilled ? { ...family, defaults: { ...family.defaults, ...distilled[2] } } : family;
}
