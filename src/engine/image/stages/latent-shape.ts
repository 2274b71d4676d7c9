// Shape of the latents of one result, and the number of tokens that a denoiser makes of them.

import type { Size } from '../calls/image-model.ts';

/** Latents of one result. */
export interface LatentShape {
  channels: number;
  /** Pixels along one side of a latent. */
  factor: number;
  /** Latents along one side of a token. */
  patch: number;
  /** Frames that a latent frame after the first stands for; left out: results have one frame. */
  framesPerLatent?: number;
}

interface ClipSize extends Size {
  /** Left out: 1. */
  frames?: number;
}

/** [latent frames, height, width, channels] for a size in pixels and frames. */
export function shapeOfLatents(
  { channels, factor, framesPerLatent = 1 }: LatentShape,
  { width, height, frames = 1 }: ClipSize,
): number[] {
  return [1 + (frames - 1) / framesPerLatent, height / factor, width / factor, channels];
}

/** Number of tokens of one result of a size in pixels. */
export function latentTokens(shape: LatentShape, size: ClipSize): number {
  const [frames, height, width] = shapeOfLatents(shape, size) as [number, number, number];
  return (frames * height * width) / shape.patch ** 2;
}
