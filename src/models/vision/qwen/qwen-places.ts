// Positions of the tokens of a prompt that holds media, in Qwen's language models. A word has one position in all three parts; the cells of
// a frame count rows and columns from where it stands, and the frames of a run share these. The next token has the position behind the largest of
// all three parts, as in the models' own code and in vLLM; transformers 5 leaves out that of time.

import type { Place, PlacedMedium } from '../../media.ts';

/** Returns the positions of `tokens` tokens; the media are in order and do not overlap. */
export function qwenPlaces(tokens: number, media: readonly Pick<PlacedMedium, 'runs' | 'grid'>[]): Place[] {
  const places: Place[] = [];
  let next = 0;
  const words = (end: number): void => {
    while (places.length < end) {
      places.push([next, next, next]);
      next++;
    }
  };
  for (const { runs, grid } of media) {
    const { times, rows, columns } = grid!;
    for (const { first } of runs) {
      words(first);
      for (const time of times)
        for (let row = 0; row < rows; row++)
          for (let column = 0; column < columns; column++)
            places.push([next + time, next + row, next + column]);
      next += Math.max(rows, columns, times.at(-1)! + 1);
    }
  }
  words(tokens);
  return places;
}
