// Resizing by bands, between which other work runs: the values of the whole image, and each row of the image is filtered once.

import { expect, it } from 'vitest';
import { resample, resampleInBands, Resampling } from '../../../src/files/image/resample.ts';
import type { Pixels } from '../../../src/files/image/pixels.ts';

function pixelsOf(width: number, height: number): Pixels {
  return {
    width,
    height,
    data: Uint8Array.from({ length: 3 * width * height }, (_, i) => (i * 37 + (i % 101) * 11) % 256),
  };
}

it.each([
  [700, 3000, 16, 16, false],
  [3000, 700, 16, 16, false],
  [2500, 2500, 33, 47, false],
  [900, 1200, 10, 7, true],
  [40, 30, 90, 700, false],
])('a resample of %d × %d to %d × %d, rows first: %s', (width, height, toWidth, toHeight, rowsFirst) => {
  const image = pixelsOf(width, height);
  const options = { filter: 'bicubic', rowsFirst } as const;
  const whole = resample(image, toWidth, toHeight, options);
  const bands = resampleInBands(image, toWidth, toHeight, options);
  let turns = 0;
  let step = bands.next();
  for (; !step.done; step = bands.next()) turns++;
  expect(Buffer.compare(step.value.data, whole.data)).toBe(0);
  expect(turns > 0).toBe(width * height > 2 ** 19);
});

it('bands of any rows in any order are those of the whole image', () => {
  const image = pixelsOf(90, 60);
  const whole = resample(image, 12, 20, { rowsFirst: true });
  const resampling = new Resampling(image, 12, 20, { rowsFirst: true });
  for (const [from, to] of [
    [4, 9],
    [9, 12],
    [2, 6],
    [0, 20],
    [7, 8],
    [8, 20],
  ] as const)
    expect(resampling.rows(from, to).data).toEqual(whole.data.slice(3 * 12 * from, 3 * 12 * to));
});

it('rows that neighbouring bands share are read once', () => {
  const plain = pixelsOf(50, 2000);
  let read = 0;
  const data = new Proxy(plain.data, {
    get(target, key) {
      if (key === 'subarray')
        return (from: number, to: number) => {
          read += to - from;
          return target.subarray(from, to);
        };
      return Reflect.get(target, key, target) as unknown;
    },
  });
  const resampling = new Resampling({ ...plain, data }, 20, 20, { filter: 'bicubic', rowsFirst: true });
  for (let row = 0; row < 20; row++) resampling.rows(row, row + 1);
  expect(read).toBe(plain.data.length);
});
