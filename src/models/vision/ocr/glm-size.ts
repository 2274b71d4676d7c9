// The size in which GLM's vision models see an image or the frames of a video: images that are narrower than a cell grow until they are not, and
// bounds count the pixels of all frames.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { QwenProcessorConfig } from '../qwen/qwen-processor-config.ts';
import { roundHalfEven, smartSize } from '../smart-size.ts';

type Sides = Pick<Pixels, 'width' | 'height'>;

/** `count`: frames; those of an image are as many as a patch has. */
export function glmSize(
  image: Sides,
  { patch, merge, minPixels, maxPixels, frames }: Omit<QwenProcessorConfig, 'scale' | 'means' | 'spreads'>,
  count = frames,
): Sides {
  const multiple = patch * merge;
  const growth = Math.max(1, multiple / image.height, multiple / image.width);
  const size = { width: Math.trunc(image.width * growth), height: Math.trunc(image.height * growth) };
  const padded = roundHalfEven(count / frames) * frames;
  return smartSize(size, {
    ...{ multiple, minPixels, maxPixels, stated: { width: image.width, height: image.height } },
    frames: { count, padded },
  });
}
