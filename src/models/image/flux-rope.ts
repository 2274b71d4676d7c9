// Positions of the patches of FLUX images, (image, row, column), and the rotation of each pair of a head's dimensions there. Tokens of a
// text stand at 0, where nothing is rotated.

import type { FluxConfig } from './flux-config.ts';

const THETA = 10000;

export interface FluxGrid {
  /** Number of the image: 0 is the one that is denoised. */
  image: number;
  rows: number;
  columns: number;
}

type Axes = Pick<FluxConfig, 'dims' | 'axes'>;

/** Returns rows of (cos, sin) pairs, [tokens, dims], for tokens of a text. */
export function fluxTextRotations({ dims }: Axes, tokens: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: tokens * dims }, (_, i) => 1 - (i % 2));
}

/** Returns rows of (cos, sin) pairs, [rows · columns, dims], for the patches of an image. */
export function fluxRotations({ axes }: Axes, { image, rows, columns }: FluxGrid): Float32Array<ArrayBuffer> {
  const places = Array.from({ length: rows * columns }, (_, patch) => [
    image,
    Math.floor(patch / columns),
    patch % columns,
  ]);
  return rotationsAt(places, axes, THETA);
}

/**
 * Returns rows of (cos, sin) pairs, one for each place, which has a number for each axis; `axes`: dimensions of a head that each of them
 * rotates. Angles are computed in f64, as in training.
 */
export function rotationsAt(
  places: readonly (readonly number[])[],
  axes: readonly number[],
  theta: number,
): Float32Array<ArrayBuffer> {
  const rates = axes.map((size) => Array.from({ length: size / 2 }, (_, i) => theta ** ((-2 * i) / size)));
  const dims = axes.reduce((sum, size) => sum + size, 0);
  const values = new Float32Array(places.length * dims);
  let at = 0;
  for (const place of places) {
    rates.forEach((axis, i) => {
      for (const rate of axis) {
        values[at++] = Math.cos(place[i]! * rate);
        values[at++] = Math.sin(place[i]! * rate);
      }
    });
  }
  return values;
}
