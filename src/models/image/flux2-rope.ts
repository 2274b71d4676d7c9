// Positions of the tokens of FLUX.2, (image, row, column, place in the text), and the rotation of each pair of a head's dimensions there.

import { rotationsAt, type FluxGrid } from './flux-rope.ts';
import type { Flux2Config } from './flux2-config.ts';

/** Distance between two images on the axis of images. */
const IMAGE_STEP = 10;

type Axes = Pick<Flux2Config, 'axes' | 'theta'>;

/** Returns rows of (cos, sin) pairs, [tokens, dims], for tokens of a text. */
export function flux2TextRotations({ axes, theta }: Axes, tokens: number): Float32Array<ArrayBuffer> {
  const places = Array.from({ length: tokens }, (_, i) => [0, 0, 0, i]);
  return rotationsAt(places, axes, theta);
}

/** Returns rows of (cos, sin) pairs, [rows · columns, dims], for the patches of an image. */
export function flux2Rotations(
  { axes, theta }: Axes,
  { image, rows, columns }: FluxGrid,
): Float32Array<ArrayBuffer> {
  const places = Array.from({ length: rows * columns }, (_, patch) => [
    IMAGE_STEP * image,
    Math.floor(patch / columns),
    patch % columns,
    0,
  ]);
  return rotationsAt(places, axes, theta);
}
