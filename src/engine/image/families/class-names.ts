// The built-in pipeline classes for the public face, whose types must not reach those of a family.

import { pipelineTasks } from './registry.ts';

/** Class names of diffusers' pipelines, each with the inputs that it makes an image from. */
export const PIPELINE_CLASSES: Readonly<Record<string, 'text-to-image' | 'image-to-image' | 'inpainting'>> =
  pipelineTasks();
