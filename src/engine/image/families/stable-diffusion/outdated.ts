// Corrections that diffusers' Stable Diffusion pipelines make to the files of older checkpoints: many were published with values
// that those pipelines never used.

import type { Json } from '../../../../models/config-values.ts';
import type { UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import type { PipelineTask } from '../../blocks/family.ts';

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
