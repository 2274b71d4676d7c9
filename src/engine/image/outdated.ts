// What diffusers' Stable Diffusion pipelines correct in the files of a checkpoint that is older than they are: many were
// published with values that those pipelines never used.

import type { PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import type { Json } from '../../models/config-values.ts';
import type { UNetConfig } from '../../models/image/unet-config.ts';

const CORRECTED = /^StableDiffusion(Img2Img|Inpaint)?Pipeline$/;

/** scheduler_config.json as a pipeline of the class `pipeline` takes it. */
export function schedulerConfig(
  { className, config }: Pick<PipelineComponent, 'className' | 'config'>,
  pipeline: string,
): Json {
  const named = { ...config, _class_name: className };
  if (!CORRECTED.test(pipeline)) return named;
  const inpaints = pipeline.includes('Inpaint');
  return { ...named, steps_offset: 1, clip_sample: false, ...(inpaints && { skip_prk_steps: true }) };
}

/** Latents of an image, where unet/config.json was written by a converter that said 32 of every model. */
export function sampleSizeOf(json: Json, sampleSize: UNetConfig['sampleSize']): UNetConfig['sampleSize'] {
  const isOld = /^0\.[0-8]\./.test(String(json['_diffusers_version']));
  const { sample_size: side } = json;
  return isOld && typeof side === 'number' && side < 64 ? { height: 64, width: 64 } : sampleSize;
}
