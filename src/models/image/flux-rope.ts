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

/** Returns rows of (cos, sin) pairs, [rows · columns, dims], for the patches of an image. Angles are computed in f64, as in training. */
export function fluxRotations(
  { dims, axes }: Axes,
  { image, rows, columns }: FluxGrid,
): Float32Array<ArrayBuffer> {
  const values = new Float32Array(rows * columns * dims);
  const rates = axes.map((size) => Array.from({ length: size / 2 }, (_, i) => THETA ** ((-2 * i) / size)));
  let at = 0;
  for (let patch = 0; patch < rows * columns; patch++) {
    const place = [image, Math.floor(patch / columns), patch % columns];
    rates.forEach((axis, i) => {
      for (const rate of axis) {
        values[at++] = Math.cos(place[i]! * rate);
        values[at++] = Math.sin(place[i]! * rate);
      }
    });
  }
  return values;
}
