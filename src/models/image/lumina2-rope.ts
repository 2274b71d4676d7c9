// Positions of the tokens of a Lumina 2 caption and of its image, and the rotation of each pair of a head's dimensions there. The image stands
// behind the caption on the first axis.

import { field, say } from '../../files/message.ts';
import { badRequest } from '../../files/error.ts';
import { rotationsAt } from './flux-rope.ts';
import type { Lumina2Config } from './lumina2-config.ts';
import { checkPatches } from './patch-grid.ts';

const THETA = 10000;

type Axes = Pick<Lumina2Config, 'axes' | 'lengths'>;

/** Rows of (cos, sin) pairs, [tokens, dims] each. */
export interface Lumina2Rotations {
  caption: Float32Array<ArrayBuffer>;
  image: Float32Array<ArrayBuffer>;
  /** Rotations of the image's tokens, then of the caption's. */
  joint: Float32Array<ArrayBuffer>;
}

/** `tokens` of the caption; rows and columns of the image, in patches. */
export function lumina2Rotations(
  { axes, lengths }: Axes,
  tokens: number,
  rows: number,
  columns: number,
): Lumina2Rotations {
  checkLumina2Caption({ lengths }, tokens);
  checkLumina2Size({ lengths }, rows, columns);
  const caption = Array.from({ length: tokens }, (_, i) => [i, 0, 0]);
  const image = Array.from({ length: rows * columns }, (_, i) => [
    tokens,
    Math.floor(i / columns),
    i % columns,
  ]);
  const [ofCaption, ofImage, joint] = [caption, image, [...image, ...caption]].map((places) =>
    rotationsAt(places, axes, THETA),
  );
  return { caption: ofCaption!, image: ofImage!, joint: joint! };
}

/** Throws bad_request for an image of more patches along a side than the model has positions for. */
export function checkLumina2Size({ lengths }: Pick<Axes, 'lengths'>, rows: number, columns: number): void {
  checkPatches({ rows, columns }, { rows: lengths[1]!, columns: lengths[2]! });
}

/** Throws bad_request for a caption behind which there is no position for the image. */
export function checkLumina2Caption(
  { lengths }: Pick<Axes, 'lengths'>,
  tokens: number,
  param: 'prompt' | 'negativePrompt' = 'prompt',
): void {
  const most = lengths[0]! - 1;
  if (tokens <= most) return;
  const message = say`a caption of ${tokens} tokens exceeds the model's ${most}: shorten the prompt, or let ${field('maxSequenceLength')} cut it`;
  throw badRequest(message, param);
}
