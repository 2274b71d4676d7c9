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
  /** What some of them were taken from, where not from the family alone. */
  toldBy?: string;
  /** What its user may know and its files do not tell. */
  hint?: string;
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

/** What something tells of how a model is used, and by what. */
interface Told {
  defaults: Defaults;
  by: string;
}

/** The family of a pipeline; `name` is the model's own, or what `modelId` gives in its place. */
export function familyOf(
  pipeline: { family: PipelineFamily; className: string; components: Components },
  name: string,
): Family {
  const family = FAMILIES[pipeline.family];
  const files = family.denoiser === 'unet' ? toldBy(pipeline.components) : {};
  const told = files.surely ?? toldByName(family, pipeline.className, name) ?? files.likely;
  if (told) return { ...family, defaults: { ...family.defaults, ...told.defaults }, toldBy: told.by };
  return files.unsure === undefined ? family : { ...family, hint: files.unsure };
}

function toldByName({ name: family }: Family, className: string, name: string): Told | null {
  for (const [which, families, defaults] of NAMED) {
    if (!families.includes(family)) continue;
    const [word] = which.exec(name) ?? [];
    if (word !== undefined) return { defaults, by: `"${word}" in its name` };
    if (which.test(className)) return { defaults, by: `the class ${className}` };
  }
  return null;
}

/** What the components tell: `surely` holds whatever the name says, `likely` where it says nothing, `unsure` then leaves it to the user. */
function toldBy({ unet, scheduler }: Components): { surely?: Told; likely?: Told; unsure?: string } {
  // It was taught to follow a guidance scale in one pass.
  if (unet?.config['time_cond_proj_dim'] != null)
    return { surely: { defaults: { steps: 4, guidance: 8.5 }, by: 'a UNet that is told the guidance' } };
  const { className = '', config = {} } = scheduler ?? {};
  const by = `its ${className}`;
  if (className === 'LCMScheduler') return { surely: { defaults: { steps: 4, guidance: 1 }, by } };
  if (className === 'TCDScheduler') return { surely: { defaults: { steps: 4, guidance: 0 }, by } };
  // Playground v2.5, as its card has it.
  if (className.startsWith('EDM')) return { likely: { defaults: { guidance: 3 }, by } };
  const { timestep_spacing: spacing, prediction_type: prediction = 'epsilon' } = config;
  const fromNoise = spacing === 'trailing' && config['rescale_betas_zero_snr'] !== true;
  if (!/^Euler(Ancestral)?Discrete/.test(className) || !fromNoise || prediction !== 'epsilon') return {};
  const trailing = 'trailing timesteps that predict noise';
  const few = { steps: 4, guidance: 0 };
  if (isShapedAsTurbo(unet?.config))
    return { likely: { defaults: few, by: `${trailing}, and a UNet as Turbo has it` } };
  // Lightning models are published so, and so are ordinary ones by some trainers.
  const remedy = `\`steps\` ${few.steps} and \`guidance\` ${few.guidance}`;
  return {
    unsure: `the model has ${trailing}, as few-step models do and some ordinary ones: where it is one of Lightning's kind, give ${remedy}, or \`modelId\` lightning`,
  };
}

/** SDXL's UNet at half of its usual size, or that of Stable Diffusion 2 at 512 pixels. */
function isShapedAsTurbo(config: PipelineComponent['config'] = {}): boolean {
  const { sample_size: side, cross_attention_dim: columns } = config;
  return side === 64 && (columns === 2048 || columns === 1024);
}
