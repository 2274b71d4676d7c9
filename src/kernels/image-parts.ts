// Divides images for kernels that treat each of them by itself: ranges of pixels of each, and slabs of pixels that are reduced one by one.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, fits, imageShape, mostPixels, view, type Pixels, type View } from './pixels.ts';

const MOST_SLABS = 256;
const LEAST_SLAB = 64;

/** The pixels [first, last) of each of several images. */
export interface ImagePiece extends Pixels {
  image: number;
  images: number;
}

/** Slabs of an image's pixels. They depend on the size of one image only. */
export function slabsOf(pixels: number): { slabPixels: number; slabs: number } {
  const slabPixels = Math.max(LEAST_SLAB, Math.ceil(pixels / MOST_SLABS));
  return { slabPixels, slabs: Math.ceil(pixels / slabPixels) };
}

/** Parts of the work: all images together if they fit, otherwise each image by itself. */
export function imageParts({ first, last }: Pixels, batch: number, pixels: number): ImagePiece[] {
  if (first === 0 && last === batch * pixels) return [{ image: 0, images: batch, first: 0, last: pixels }];
  const parts: ImagePiece[] = [];
  for (let image = Math.floor(first / pixels); image * pixels < last; image++) {
    const before = image * pixels;
    const end = Math.min(last - before, pixels);
    parts.push({ image, images: 1, first: Math.max(first - before, 0), last: end });
  }
  return parts;
}

/** Ranges of whole slabs that fit a binding. */
export function slabParts(x: Tensor, slabPixels: number): (ImagePiece & { x: View })[] {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const pixels = height * width;
  if (fits(tape, x)) {
    return [{ image: 0, images: batch, first: 0, last: pixels, x: { operand: x, first: 0 } }];
  }
  const most = Math.floor(mostPixels(tape, x) / slabPixels) * slabPixels;
  if (most === 0)
    throw new Error(`slabParts: ${slabPixels} pixels of [${x.shape.join(', ')}] exceed a binding`);
  return Array.from({ length: batch }, (_, image) => {
    const before = image * pixels;
    return cutPixels(tape, { first: 0, last: pixels }, [x], most).map(({ first, last }) => ({
      image,
      images: 1,
      first,
      last,
      x: view(tape, x, { first: before + first, last: before + last }),
    }));
  }).flat();
}
