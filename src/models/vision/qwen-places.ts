// Positions of the tokens of a prompt that holds images, in the language models of Qwen2-VL and Qwen2.5-VL. A word has one position in
// all three parts; the cells of an image share the time at which it stands and count rows and columns from there.

/** Tokens of a prompt that are the cells of an image, row by row. */
export interface ImageRun {
  /** Index of the first token. */
  first: number;
  rows: number;
  columns: number;
}

export type Place = readonly [time: number, height: number, width: number];

/** Returns the positions of `tokens` tokens; the images are in order and do not overlap. */
export function qwenPlaces(tokens: number, images: readonly ImageRun[]): Place[] {
  const places: Place[] = [];
  let next = 0;
  const words = (end: number): void => {
    while (places.length < end) {
      places.push([next, next, next]);
      next++;
    }
  };
  for (const { first, rows, columns } of images) {
    words(first);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) places.push([next, next + row, next + column]);
    next += Math.max(rows, columns);
  }
  words(tokens);
  return places;
}
