// Sizes in which PixArt and Sana were trained, by proportions. An image is drawn in that with the nearest proportions, and then scaled and
// cut to the size that is asked for. source: ASPECT_RATIO_1024_BIN and others in diffusers' pipelines

import type { Size } from '../calls/image-model.ts';
import { roundHalfEven } from '../schedules/spacing.ts';

/** Height and width in sixteenths of a square's side, from the widest to the tallest. */
const SMALL: readonly (readonly [number, number])[] = [
  ...pairs([8, 32], [8, 29], [9, 28], [9, 27], [9, 26], [10, 25], [10, 24], [11, 23], [11, 22], [11, 21]),
  ...pairs([12, 21], [12, 20], [13, 19], [13, 18], [14, 18], [14, 17], [15, 17], [15, 16], [16, 16]),
  ...pairs([16, 15], [17, 15], [17, 14], [18, 14], [18, 13], [19, 13], [20, 12], [21, 12], [22, 11]),
  ...pairs([23, 11], [24, 10], [25, 10], [27, 9], [32, 8]),
];
const LARGE: typeof SMALL = [
  ...pairs([8, 32], [8, 31], [8, 30], [8, 29], [9, 28], [9, 27], [9, 26], [10, 25], [10, 24], [11, 23]),
  ...pairs([11, 22], [11, 21], [12, 21], [12, 20], [13, 19], [13, 18], [14, 18], [14, 17], [15, 17]),
  ...pairs([15, 16], [16, 16], [16, 15], [17, 15], [17, 14], [18, 14], [18, 13], [19, 13], [20, 12]),
  ...pairs([21, 12], [22, 11], [23, 11], [24, 10], [25, 10], [26, 9], [27, 9], [28, 9], [29, 8], [30, 8]),
  ...pairs([31, 8], [32, 8]),
];

function pairs(...all: [number, number][]): [number, number][] {
  return all;
}

/** By the side of a square, in pixels. */
const BINS: ReadonlyMap<number, typeof SMALL> = new Map([
  [256, SMALL],
  [512, SMALL],
  [1024, SMALL],
  [2048, LARGE],
  [4096, LARGE],
]);
/** Parts of a square's side in which sizes are stated. */
const PARTS = 16;

/** The size with the nearest proportions of models trained with squares of this side; null: there are no such models. */
export function nearestBin({ width, height }: Size, side: number): Size | null {
  const bins = BINS.get(side);
  if (!bins) return null;
  const distance = ([tall, wide]: readonly [number, number]): number =>
    Math.abs(roundHalfEven((100 * tall) / wide) / 100 - height / width);
  const [tall, wide] = bins.reduce((best, bin) => (distance(bin) < distance(best) ? bin : best));
  return { width: (wide * side) / PARTS, height: (tall * side) / PARTS };
}
