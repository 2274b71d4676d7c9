// Patches of an image for CLIP's vision encoder, as its processor in transformers makes them: the shorter side is scaled to that of the
// encoder, the middle is taken, and colours are normalized.

import type { Pixels } from '../../../../files/image/pixels.ts';
import { resample } from '../../../../files/image/resample.ts';
import type { ClipVisionConfig } from '../../../../models/vision/clip-vision-config.ts';
import { CLIP_MEANS, CLIP_SPREADS } from '../../../../models/vision/clip-colours.ts';

type Sides = Pick<ClipVisionConfig, 'side' | 'patch'>;

/** Returns [patches, 3 · patch²]: rows of patches from left to right, their colours one after the other. */
export function clipPatches(image: Pixels, { side, patch }: Sides): Float32Array<ArrayBuffer> {
  const shorter = Math.min(image.width, image.height);
  const [width, height] = [image.width, image.height].map((own) => Math.trunc((side * own) / shorter));
  const whole = resample(image, width!, height!, { filter: 'bicubic' });
  const [left, top] = [width!, height!].map((own) => Math.floor((own - side) / 2));
  const values = new Float32Array(3 * side ** 2);
  const across = side / patch;
  let at = 0;
  for (let cell = 0; cell < across ** 2; cell++) {
    const [row, column] = [Math.floor(cell / across), cell % across];
    for (let channel = 0; channel < 3; channel++)
      for (let i = 0; i < patch ** 2; i++) {
        const y = top! + row * patch + Math.floor(i / patch);
        const x = left! + column * patch + (i % patch);
        const value = whole.data[3 * (y * whole.width + x) + channel]! / 255;
        values[at++] = (value - CLIP_MEANS[channel]!) / CLIP_SPREADS[channel]!;
      }
  }
  return values;
}
