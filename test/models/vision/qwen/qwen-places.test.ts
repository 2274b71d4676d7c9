// Positions of tokens around videos in Qwen's models: the text behind a video has positions behind the largest of all three parts.

import { expect, it } from 'vitest';
import { qwenPlaces } from '../../../../src/models/vision/qwen/qwen-places.ts';

const placed = (times: number[], rows: number, columns: number, first: number) => {
  const end = first + times.length * rows * columns;
  return { runs: [{ first, end }], grid: { times, rows, columns } };
};

it('a video that is longer than wide moves the positions of the text behind it by its time', () => {
  const places = qwenPlaces(10, [placed([0, 2, 58], 1, 2, 2)]);
  expect(places).toEqual([
    [0, 0, 0],
    [1, 1, 1],
    [2, 2, 2],
    [2, 2, 3],
    [4, 2, 2],
    [4, 2, 3],
    [60, 2, 2],
    [60, 2, 3],
    [61, 61, 61],
    [62, 62, 62],
  ]);
});

it('a shorter video, like an image, moves the positions of the text behind it by its longer side', () => {
  const places = qwenPlaces(14, [placed([0, 1], 1, 4, 1), placed([0], 3, 1, 10)]);
  expect(places[9]).toEqual([5, 5, 5]);
  expect(places[10]).toEqual([6, 6, 6]);
  expect(places[13]).toEqual([9, 9, 9]);
});
