// Completes a checked request: its image files are decoded, and a seed is drawn where none is given.

import type { Platform } from '../../platform/platform.ts';
import type { CompleteImageRequest, ImageInput, ImageRequest, Pixels } from '../calls/image-model.ts';

/** Seeds that are drawn lie below this number, as those of the command line. */
const SEEDS = 2 ** 32;

/** Throws bad_request for a file that is not decoded, by the field that holds it. */
export async function completeRequest(
  { images }: Pick<Platform, 'images'>,
  { seed = drawSeed(), image, furtherImages, mask, ipAdapterImage, controlImages, ...rest }: ImageRequest,
): Promise<CompleteImageRequest> {
  const decoded = async (given: ImageInput, name: string): Promise<Pixels> =>
    given instanceof Uint8Array ? images.image(given, name) : given;
  const all = async (given: readonly ImageInput[], name: string): Promise<Pixels[]> => {
    const pixels: Pixels[] = [];
    for (const [i, one] of given.entries()) pixels.push(await decoded(one, `${name}.${i}`));
    return pixels;
  };
  return {
    ...rest,
    seed,
    ...(image && { image: await decoded(image, 'image') }),
    ...(furtherImages && { furtherImages: await all(furtherImages, 'furtherImages') }),
    ...(mask && { mask: mask instanceof Uint8Array ? await images.mask(mask, 'mask') : mask }),
    ...(ipAdapterImage && { ipAdapterImage: await decoded(ipAdapterImage, 'ipAdapterImage') }),
    ...(controlImages && { controlImages: await all(controlImages, 'controlImages') }),
  };
}

function drawSeed(): number {
  return Math.floor(Math.random() * SEEDS);
}
