// Images of Pixtral and Mistral 3: any resolution up to a longest side, a token for each cell, and a token that ends each row of cells.

import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaFamily, MediaModel, Preparation } from '../media.ts';
import { readMistral3, readPixtral, type PixtralConfig } from './pixtral-config.ts';
import { pixtralTower, type PixtralGrid } from './pixtral.ts';
import { imagePatches, resized } from './tiles.ts';

const TOWER = 'vision';
const [IMAGE, BREAK, END] = ['[IMG]', '[IMG_BREAK]', '[IMG_END]'];

export const PIXTRAL: MediaFamily = {
  classes: ['LlavaForConditionalGeneration'],
  read: (files) => mediaModel(readPixtral(files)),
};

export const MISTRAL3: MediaFamily = {
  classes: ['Mistral3ForConditionalGeneration'],
  read: (files) => mediaModel(readMistral3(files)),
};

function mediaModel(config: PixtralConfig): MediaModel {
  return {
    readers: {
      image: { placeholder: IMAGE, alpha: 'white', prepare: (image) => prepareImage(config, image) },
    },
    towers: { [TOWER]: (weights) => pixtralTower(config.tower, weights) },
    spans: false,
  };
}

function* prepareImage(config: PixtralConfig, image: Pixels): Preparation {
  const { tower, patches, cell } = config;
  const size = cellSize(image, config);
  const { width, height } = size;
  yield (width / cell) * (height / cell);
  const seen = yield* resized(image, size, { filter: 'bicubic' });
  yield;
  const grid = { rows: height / tower.patch, columns: width / tower.patch };
  const count = grid.rows * grid.columns;
  return {
    parts: partsOf(height / cell, width / cell),
    token: IMAGE,
    tower: TOWER,
    inputs: {
      patches: { shape: [1, count, 3 * tower.patch ** 2], data: imagePatches(seen, patches) },
      rotations: { shape: [count, tower.dims], data: rotationsOf(tower, grid) },
    },
    layout: grid,
  };
}

/** Larger images shrink to the bounds, rounded down, and then both sides are rounded up to whole cells. */
function cellSize(
  { width, height }: Pick<Pixels, 'width' | 'height'>,
  { most, cell }: Pick<PixtralConfig, 'most' | 'cell'>,
): { width: number; height: number } {
  const ratio = Math.max(height / most.height, width / most.width, 1);
  // A line that shrinks to nothing has one cell; transformers fails there.
  const whole = (side: number): number => Math.max(1, Math.ceil(Math.floor(side / ratio) / cell)) * cell;
  return { width: whole(width), height: whole(height) };
}

function partsOf(rows: number, columns: number): (string | number)[] {
  return Array.from({ length: rows }, (_, i) => [columns, i === rows - 1 ? END : BREAK]).flat();
}

/** Pairs turn by the row in the first half and by the column in the second, at rates that take turns; angles are computed in f32. */
function rotationsOf(
  { dims, theta }: PixtralConfig['tower'],
  { rows, columns }: PixtralGrid,
): Float32Array<ArrayBuffer> {
  const rates = [0, 2].map((first) =>
    Float32Array.from({ length: dims / 4 }, (_, i) => 1 / Math.fround(theta ** ((4 * i + first) / dims))),
  );
  const table = new Float32Array(rows * columns * dims);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (const [i, place] of [row, column].entries()) {
        for (const rate of rates[i]!) {
          const angle = Math.fround(place * rate);
          table[at++] = Math.cos(angle);
          table[at++] = Math.sin(angle);
        }
      }
    }
  }
  return table;
}
