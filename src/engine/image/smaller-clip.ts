// The change of a clip that does not fit the memory: its largest length, or else its largest size.

import { field, say, type Prose } from '../../files/message.ts';
import type { ResolvedImageRequest } from './calls/image-model.ts';
import type { ResolveContext } from './stages/resolved.ts';

type Clip = Pick<ResolvedImageRequest, 'width' | 'height' | 'frames'>;

/** Returns the longest clip of the size that fits, or else the largest of about its proportions; null: none does. */
export async function smallerClip(
  { width, height, frames }: Clip,
  { framesPerLatent, sizeMultiple }: Pick<ResolveContext, 'framesPerLatent' | 'sizeMultiple'>,
  fits: (clip: Partial<Clip>) => Promise<boolean>,
): Promise<Prose | null> {
  const perLatent = framesPerLatent ?? 1;
  const framesOf = (latents: number): number => 1 + latents * perLatent;
  const longest = await largest((frames - 1) / perLatent - 1, (latents) =>
    fits({ frames: framesOf(latents) }),
  );
  if (longest > 0) return say`lower ${field('frames')} to ${framesOf(longest)}`;
  const steps = Math.min(width, height) / sizeMultiple;
  const sizeOf = (step: number): Pick<Clip, 'width' | 'height'> => {
    const side = (whole: number): number =>
      Math.round(((whole / sizeMultiple) * step) / steps) * sizeMultiple;
    return { width: side(width), height: side(height) };
  };
  const most = await largest(steps - 1, (step) => fits(sizeOf(step)));
  if (most === 0) return null;
  const size = sizeOf(most);
  return say`lower ${field('width')} and ${field('height')} to ${size.width} × ${size.height}`;
}

/** The largest number from 1 to `most` that fits, where all below one that fits do; 0: none. */
async function largest(most: number, fits: (count: number) => Promise<boolean>): Promise<number> {
  // The smallest is measured in the least time, and often tells that none fits.
  if (most < 1 || !(await fits(1))) return 0;
  let [below, above] = [1, Math.floor(most) + 1];
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (await fits(middle)) below = middle;
    else above = middle;
  }
  return below;
}
