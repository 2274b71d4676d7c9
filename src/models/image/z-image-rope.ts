// Positions of the tokens of a Z-Image image and its caption, and the rotation of each pair of a head's dimensions there.

import { field, say } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
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
  checkLengths(config, caption + 2, rows, columns);
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

function checkLengths({ rope }: ZImageConfig, ...needed: number[]): void {
  const axis = needed.findIndex((length, i) => length > rope.lengths[i]!);
  if (axis < 0) return;
  const what = ['a caption of', 'a height of', 'a width of'][axis]!;
  const unit = axis === 0 ? 'tokens' : 'patches';
  const remedy =
    axis === 0
      ? say`shorten the prompt, or let ${field('maxSequenceLength')} cut it`
      : 'choose a smaller image';
  throw new EngineError(
    'bad_request',
    say`${what} ${needed[axis]! - (axis === 0 ? 2 : 0)} ${unit} exceeds the model's ${rope.lengths[axis]! - (axis === 0 ? 2 : 0)}: ${remedy}`,
  );
}
