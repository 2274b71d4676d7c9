// Defaults that the files of a Stable Diffusion model imply: few-step models are recognized by their UNet's embedding of the
// guidance scale, by their schedule's class, or by the timestep spacing that such models are published with.

import { field, option, say } from '../../../../files/message.ts';
import type { PipelineComponent } from '../../../../files/pipeline/pipeline-index.ts';
import type { Json } from '../../../../models/config-values.ts';
import type { UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import type { ComponentFiles, FamilyDefaults, ImpliedDefaults, PipelineTask } from '../../blocks/family.ts';

/** Words in the names of few-step models, which exist for every Stable Diffusion version. */
export const FEW_STEP_NAMES: readonly (readonly [RegExp, FamilyDefaults])[] = [
  [/lightning|\bhyper\b|dmd2/i, { steps: 4, guidance: 0 }],
  [/\blcm\b/i, { steps: 4, guidance: 1 }],
];

export function unetDefaults({ unet, scheduler }: ComponentFiles): ImpliedDefaults {
  // A UNet with time_cond_proj_dim was trained to follow a guidance scale in one pass.
  if (unet?.config['time_cond_proj_dim'] != null)
    return { certain: { defaults: { steps: 4, guidance: 8.5 }, from: 'a UNet that embeds the guidance' } };
  const { className = '', config = {} } = scheduler ?? {};
  const from = `its ${className}`;
  if (className === 'LCMScheduler') return { certain: { defaults: { steps: 4, guidance: 1 }, from } };
  if (className === 'TCDScheduler') return { certain: { defaults: { steps: 4, guidance: 0 }, from } };
  // Playground v2.5: the value in its model card.
  if (className.startsWith('EDM')) return { likely: { defaults: { guidance: 3 }, from } };
  const { timestep_spacing: spacing, prediction_type: prediction = 'epsilon' } = config;
  const fromNoise = spacing === 'trailing' && config['rescale_betas_zero_snr'] !== true;
  if (!/^Euler(Ancestral)?Discrete/.test(className) || !fromNoise || prediction !== 'epsilon') return {};
  return trailingDefaults(unet?.config);
}

/**
 * Lightning models are published with trailing timestep spacing and noise prediction, but some trainers publish ordinary models in
 * the same way.
 */
function trailingDefaults(config: PipelineComponent['config'] = {}): ImpliedDefaults {
  const trailing = 'trailing timesteps that predict noise';
  const few = { steps: 4, guidance: 0 };
  const { sample_size: side, cross_attention_dim: columns } = config;
  // SDXL's UNet at half its usual size, or that of Stable Diffusion 2 at 512 pixels.
  if (side === 64 && (columns === 2048 || columns === 1024))
    return { likely: { defaults: few, from: `${trailing}, and a UNet as Turbo has it` } };
  const remedy = say`${field('steps')} ${few.steps} and ${field('guidance')} ${few.guidance}`;
  return {
    hint: say`the model has ${trailing}, as few-step models do and some ordinary ones: where it is one of Lightning's kind, give ${remedy}, or ${option('modelId')} lightning`,
  };
}

// Older checkpoints were published with values that diffusers' pipelines never used, and correct.

/** Returns scheduler_config.json as the pipeline class of a task reads it. */
export function correctScheduler(config: Json, task: PipelineTask): Json {
  const steps = task === 'inpainting' ? { skip_prk_steps: true } : {};
  return { ...config, steps_offset: 1, clip_sample: false, ...steps };
}

/** Returns the sample size, corrected for unet/config.json files of a converter that wrote 32 into every model. */
export function sampleSizeOf(json: Json, sampleSize: UNetConfig['sampleSize']): UNetConfig['sampleSize'] {
  const isOld = /^0\.[0-8]\./.test(String(json['_diffusers_version']));
  const { sample_size: side } = json;
  return isOld && typeof side === 'number' && side < 64 ? { height: 64, width: 64 } : sampleSize;
}
