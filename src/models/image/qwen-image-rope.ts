// Positions of the tokens of a Qwen-Image text and its images, and the rotation of each pair of a head's dimensions there. Rows and
// columns of an image are counted from its centre; the text follows the largest row or column.

import { say } from '../../files/message.ts';
import { badRequest } from '../../files/error.ts';
import { checkPatches, type PatchGrid } from './patch-grid.ts';
import type { QwenImageConfig } from './qwen-image-config.ts';

const THETA = 10000;
/** Positions from −4096 to 4095 are known. */
const POSITIONS = 4096;

/** Rows of (cos, sin) pairs, [tokens, dims] each. */
export interface QwenImageRotations {
  text: Float32Array<ArrayBuffer>;
  /** One table for each image, in order. */
  images: Float32Array<ArrayBuffer>[];
}

/** `tokens` of the text; the first image is the one that is denoised, reference images follow. */
export function qwenImageRotations(
  config: Pick<QwenImageConfig, 'dims' | 'axes'>,
  tokens: number,
  images: readonly PatchGrid[],
): QwenImageRotations {
  const first = firstPlace(images);
  checkQwenImageText(tokens, images);
  const text = Array.from({ length: tokens }, (_, i) => Array<number>(config.axes.length).fill(first + i));
  return {
    text: table(config, text),
    images: images.map(({ rows, columns }, index) => {
      checkQwenImageSize({ rows, columns });
      const places = Array.from({ length: rows * columns }, (_, i) => [
        index,
        Math.floor(i / columns) - (rows - (rows >> 1)),
        (i % columns) - (columns - (columns >> 1)),
      ]);
      return table(config, places);
    }),
  };
}

/** Angles are computed in f32, as in training. */
function table({ dims, axes }: Pick<QwenImageConfig, 'dims' | 'axes'>, places: number[][]) {
  const values = new Float32Array(places.length * dims);
  const rates = axes.map((size) =>
    Float32Array.from({ length: size / 2 }, (_, i) => 1 / Math.fround(THETA ** Math.fround((2 * i) / size))),
  );
  let at = 0;
  for (const place of places) {
    rates.forEach((axis, i) => {
      for (const rate of axis) {
        const angle = Math.fround(place[i]! * rate);
        values[at++] = Math.cos(angle);
        values[at++] = Math.sin(angle);
      }
    });
  }
  return values;
}

/** The position of a text's first token, behind all rows and columns of the images. */
function firstPlace(images: readonly PatchGrid[]): number {
  return Math.max(...images.flatMap(({ rows, columns }) => [rows >> 1, columns >> 1]));
}

/** Throws bad_request for an image of more patches along a side than the model has positions for. */
export const checkQwenImageSize = (grid: PatchGrid): void =>
  checkPatches(grid, { rows: 2 * POSITIONS, columns: 2 * POSITIONS });

/** Throws bad_request for a text of more tokens than the model has positions for behind these images. */
export function checkQwenImageText(
  tokens: number,
  images: readonly PatchGrid[],
  param: 'prompt' | 'negativePrompt' = 'prompt',
): void {
  const first = firstPlace(images);
  if (first + tokens <= POSITIONS) return;
  const message = say`a prompt of ${tokens} tokens behind an image of ${2 * first} patches a side exceeds the model's ${POSITIONS} positions: shorten the prompt, or choose a smaller image`;
  throw badRequest(message, param);
}
