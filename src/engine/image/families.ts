// Families of pipelines: what a pipeline's class, components and name say about how it is used. A checkpoint's own numbers
// come first; these stand in where it has none.

import type { PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import { classOfModelId, type PipelineFamily } from '../../files/pipeline/pipeline-classes.ts';

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

type Defaults = Family['defaults'];
type Components = Readonly<Record<string, Pick<PipelineComponent, 'className' | 'config'>>>;

/** What a name tells of few-step models: [which, where the family is one of these, what they want]. */
const NAMED: readonly [RegExp, PipelineFamily[], Defaults][] = [
  [/z-image.*turbo/i, ['z-image'], { steps: 8, guidance: 0, size: 1024 }],
  [/sdxl-turbo/i, ['stable-diffusion-xl'], { steps: 1, guidance: 0, size: 512 }],
  [/sd-turbo/i, ['stable-diffusion'], { steps: 1, guidance: 0, size: 512 }],
  [/LatentConsistencyModel/, ['stable-diffusion'], { steps: 4, guidance: 8.5 }],
  [/lightning|\bhyper\b|dmd2/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 0 }],
  [/\blcm\b/i, ['stable-diffusion', 'stable-diffusion-xl'], { steps: 4, guidance: 1 }],
];

/** Whether a name tells anything of a model. */
export function isTelling(name: string): boolean {
  return classOfModelId(name) !== null || NAMED.some(([which]) => which.test(name));
}

/** The family of a pipeline; `name` is the model's own, or what --model-id gives in its place. */
export function familyOf(
  pipeline: { family: PipelineFamily; className: string; components: Components },
  name: string,
): Family {
  const family = FAMILIES[pipeline.family];
  const named = NAMED.find(
    ([which, families]) =>
      families.includes(family.name) && (which.test(name) || which.test(pipeline.className)),
  );
  const told = family.denoiser === 'unet' ? toldBy(pipeline.components) : {};
  const few = told.surely ?? named?.[2] ?? told.likely;
  return few ? { ...family, defaults: { ...family.defaults, ...few } } : family;
}

/** What the components tell: `surely` holds whatever the name says, `likely` where it says nothing. */
function toldBy({ unet, scheduler }: Components): { surely?: Defaults; likely?: Defaults } {
  // It was taught to follow a guidance scale in one pass.
  if (unet?.config['time_cond_proj_dim'] != null) return { surely: { steps: 4, guidance: 8.5 } };
  const { className = '', config = {} } = scheduler ?? {};
  if (className === 'LCMScheduler') return { surely: { steps: 4, guidance: 1 } };
  if (className === 'TCDScheduler') return { surely: { steps: 4, guidance: 0 } };
  // Playground v2.5, as its card has it.
  if (className.startsWith('EDM')) return { likely: { guidance: 3 } };
  const { timestep_spacing: spacing, prediction_type: prediction = 'epsilon' } = config;
  // So are the Turbo and Lightning models published; else trailing steps are for zero signal at the end, with other predictions.
  const fromNoise = spacing === 'trailing' && config['rescale_betas_zero_snr'] !== true;
  if (/^Euler(Ancestral)?Discrete/.test(className) && fromNoise && prediction === 'epsilon')
    return { likely: { steps: 4, guidance: 0 } };
  return {};
}
