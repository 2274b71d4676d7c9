// The size of an image that is drawn from a source image.

import type { ImageModelInfo, Size } from '../calls/image-model.ts';

/**
 * Returns the requested size; if none is requested, the proportions of the source image with at most as many pixels as the model's
 * default size.
 */
export function sizeFrom(
  image: Size,
  { width, height }: Partial<Size>,
  {
    sizeMultiple,
    defaults,
  }: { sizeMultiple: number; defaults: Pick<ImageModelInfo['defaults'], 'width' | 'height'> },
): Size {
  const round = (size: number): number =>
    Math.max(sizeMultiple, Math.round(size / sizeMultiple) * sizeMultiple);
  if (width !== undefined) return { width, height: height ?? round((width * image.height) / image.width) };
  if (height !== undefined) return { width: round((height * image.width) / image.height), height };
  const most = defaults.width * defaults.height;
  const scale = Math.min(1, Math.sqrt(most / (image.width * image.height)));
  return { width: round(image.width * scale), height: round(image.height * scale) };
}

/** Relative difference up to which proportions count as equal. */
const PROPORTION_TOLERANCE = 0.01;

/** Returns true if a mask has the proportions of an image. */
export function sameProportions(a: Size, b: Size): boolean {
  return Math.abs((a.width * b.height) / (a.height * b.width) - 1) <= PROPORTION_TOLERANCE;
}
