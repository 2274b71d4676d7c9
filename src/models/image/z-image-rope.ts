// Positions of the tokens of a Z-Image image and its caption, and the rotation of each pair of a head's dimensions there.

import { field, say } from '../../files/message.ts';
import { badRequest } from '../../files/error.ts';
import { checkPatches } from './patch-grid.ts';
import type { ZImageConfig } from './z-image-config.ts';

/** Sequences are padded to a multiple of this. */
const SEQUENCE_MULTIPLE = 32;

/** Rows of (cos, sin) pairs, [tokens, dims] each. */
export interface ZImageRotations {
  caption: Float32Array<ArrayBuffer>;
  image: Float32Array<ArrayBuffer>;
  /** Rotations of the image's tokens, then of the caption's. */
  joint: Float32Array<ArrayBuffer>;
}

export function filledTokens(tokens: number): number {
  return Math.ceil(tokens / SEQUENCE_MULTIPLE) * SEQUENCE_MULTIPLE;
}

/** `tokens` of the caption; rows and columns of the image, in patches. */
export function zImageRotations(
  config: ZImageConfig,
  tokens: number,
  rows: number,
  columns: number,
): ZImageRotations {
  const caption = filledTokens(tokens);
  checkCaption(config, caption);
  checkZImageSize(config, rows, columns);
  // Padding of the caption follows it; padding of the image is at position 0.
  const captionPlaces = Array.from({ length: caption }, (_, i) => [1 + i, 0, 0]);
  const imagePlaces = Array.from({ length: filledTokens(rows * columns) }, (_, i) =>
    i < rows * columns ? [caption + 1, Math.floor(i / columns), i % columns] : [0, 0, 0],
  );
  return {
    caption: turns(config, captionPlaces),
    image: turns(config, imagePlaces),
    joint: turns(config, [...imagePlaces, ...captionPlaces]),
  };
}

function turns({ dims, rope }: ZImageConfig, places: number[][]): Float32Array<ArrayBuffer> {
  const table = new Float32Array(places.length * dims);
  let at = 0;
  for (const place of places) {
    rope.axes.forEach((size, axis) => {
      for (let i = 0; i < size; i += 2) {
        const angle = Math.fround(place[axis]! / rope.theta ** (i / size)); // angles are computed in f32, as in training
        table[at++] = Math.cos(angle);
        table[at++] = Math.sin(angle);
      }
    });
  }
  return table;
}

/** Positions beside those of a caption's tokens: that of padding, and that of the image. */
const FURTHER_POSITIONS = 2;

/** Number of tokens of the longest caption that the model has positions for, padding included. */
export function longestCaption({ rope }: Pick<ZImageConfig, 'rope'>): number {
  return Math.floor((rope.lengths[0]! - FURTHER_POSITIONS) / SEQUENCE_MULTIPLE) * SEQUENCE_MULTIPLE;
}

/** Throws bad_request for an image of more patches along a side than the model has positions for. */
export function checkZImageSize({ rope }: Pick<ZImageConfig, 'rope'>, rows: number, columns: number): void {
  const [, mostRows, mostColumns] = rope.lengths as [number, number, number];
  checkPatches({ rows, columns }, { rows: mostRows, columns: mostColumns });
}

function checkCaption(config: Pick<ZImageConfig, 'rope'>, tokens: number): void {
  const most = longestCaption(config);
  if (tokens <= most) return;
  const message = say`a caption of ${tokens} tokens exceeds the model's ${most}: shorten the prompt, or let ${field('maxSequenceLength')} cut it`;
  throw badRequest(message, 'prompt');
}
