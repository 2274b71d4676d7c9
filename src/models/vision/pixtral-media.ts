// Images of Pixtral, Mistral 3 and LightOnOCR: any resolution up to a longest side, and a token for each cell. In the first two a token ends
// each row of cells.

import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaFamily, MediaInput, MediaModel, Preparation } from '../media.ts';
import { readLightOnOcr, readMistral3, readPixtral, type PixtralConfig } from './pixtral-config.ts';
import { pixtralTower, type PixtralGrid } from './pixtral.ts';
import { imagePatches, resized } from './tiles.ts';

const TOWER = 'vision';
const [IMAGE, BREAK, END] = ['[IMG]', '[IMG_BREAK]', '[IMG_END]'];
const ENDED: Texts = {
  token: IMAGE,
  parts: (rows, columns) =>
    Array.from({ length: rows }, (_, i) => [columns, i === rows - 1 ? END : BREAK]).flat(),
};

export const PIXTRAL: MediaFamily = {
  classes: ['LlavaForConditionalGeneration'],
  read: (files) => mediaModel(readPixtral(files), ENDED),
};

export const MISTRAL3: MediaFamily = {
  classes: ['Mistral3ForConditionalGeneration'],
  read: (files) => mediaModel(readMistral3(files), ENDED),
};

export const LIGHT_ON_OCR: MediaFamily = {
  classes: ['LightOnOcrForConditionalGeneration'],
  read: (files) =>
    mediaModel(readLightOnOcr(files), { token: '<|image_pad|>', parts: (rows, columns) => [rows * columns] }),
};

interface Texts {
  token: string;
  /** What stands for an image of so many cells. */
  parts(rows: number, columns: number): (string | number)[];
}

function mediaModel(config: PixtralConfig, texts: Texts): MediaModel {
  return {
    readers: {
      image: {
        placeholder: texts.token,
        alpha: 'white',
        prepare: (image) => prepareImage(config, texts, image),
      },
    },
    towers: { [TOWER]: (weights) => pixtralTower(config.tower, weights) },
    spans: false,
  };
}

function* prepareImage(config: PixtralConfig, { token, parts }: Texts, image: Pixels): Preparation {
  const { tower, patches, cell } = config;
  const size = unitSize(image, config);
  const [rows, columns] = [Math.floor(size.height / cell), Math.floor(size.width / cell)];
  yield rows * columns;
  const seen = yield* resized(image, size, { filter: 'bicubic' });
  yield;
  const grid = { rows: size.height / tower.patch, columns: size.width / tower.patch };
  const count = grid.rows * grid.columns;
  return {
    parts: parts(rows, columns),
    token,
    tower: TOWER,
    inputs: {
      patches: { shape: [1, count, 3 * tower.patch ** 2], data: imagePatches(seen, patches) },
      rotations: { shape: [count, tower.dims], data: rotationsOf(tower, grid) },
      ...wholeCells(grid, cell / tower.patch),
    },
    layout: grid,
  };
}

/** The patches that fill whole cells, where an image has others. */
function wholeCells({ rows, columns }: PixtralGrid, merge: number): { whole?: MediaInput } {
  const [down, across] = [rows - (rows % merge), columns - (columns % merge)];
  if (down === rows && across === columns) return {};
  const data = Uint32Array.from(
    { length: down * across },
    (_, i) => Math.floor(i / across) * columns + (i % across),
  );
  return { whole: { shape: [data.length], data } };
}

/** Larger images shrink to the bounds, rounded down, and then both sides are rounded up to whole units. */
function unitSize(
  { width, height }: Pick<Pixels, 'width' | 'height'>,
  { most, unit, cell }: Pick<PixtralConfig, 'most' | 'unit' | 'cell'>,
): { width: number; height: number } {
  const ratio = Math.max(height / most.height, width / most.width, 1);
  // A line that shrinks to nothing, or to less than a cell, has one cell; transformers fails there.
  const whole = (side: number): number =>
    Math.max(Math.ceil(cell / unit), Math.ceil(Math.floor(side / ratio) / unit)) * unit;
  return { width: whole(width), height: whole(height) };
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
