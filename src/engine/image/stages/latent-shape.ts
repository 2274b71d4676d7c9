// Shape of the latents of one result, and the number of tokens that a denoiser makes of them.

/** Latents of one result. */
export interface LatentShape {
  channels: number;
  /** Pixels along one side of a latent. */
  factor: number;
  /** Latents along one side of a token. */
  patch: number;
  /** Frames of one result; left out: 1. */
  frames?: number;
}

interface Size {
  width: number;
  height: number;
}

/** [frames, height, width, channels] for a size in pixels. */
export function shapeOfLatents(
  { channels, factor, frames = 1 }: LatentShape,
  { width, height }: Size,
): number[] {
  return [frames, height / factor, width / factor, channels];
}

/** Number of tokens of one result of a size in pixels. */
export function latentTokens(shape: LatentShape, size: Size): number {
  const [frames, height, width] = shapeOfLatents(shape, size) as [number, number, number];
  return (frames * height * width) / shape.patch ** 2;
}
