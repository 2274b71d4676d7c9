// The source image of a request and its mask, in their original size and in the size that is drawn.

import { coverImage } from '../../files/image/cover.ts';
import type { Pixels } from './image-model.ts';
import { crop, cropRegion, overlay, within } from './mask-crop.ts';
import type { Resolved } from './resolved.ts';

export interface GivenImages {
  /** Scaled to the size that is drawn. */
  image: Pixels | null;
  mask: Pixels | null;
  /** Converts a drawn image to the final one; left out: they are the same. */
  finish?(drawn: Pixels): Pixels;
}

export async function fitImages({
  request: { image, mask },
  call: { maskPadding },
  event,
}: Resolved): Promise<GivenImages> {
  const { width, height } = event.values;
  if (!image || !mask || maskPadding === undefined) {
    return {
      image: image ? await coverImage(image, width, height) : null,
      mask: mask ? await coverImage(mask, width, height) : null,
    };
  }
  const whole = await coverImage(mask, image.width, image.height);
  const region = cropRegion(whole, { width, height }, maskPadding);
  const part = (whole: Pixels): Pixels => within(crop(whole, region), { width, height });
  return {
    image: part(image),
    mask: part(whole),
    finish: (drawn) => overlay(image, whole, drawn, region),
  };
}
