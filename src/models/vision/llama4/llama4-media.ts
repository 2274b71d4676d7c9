// Images of Llama 4: tiles of a canvas row by row, with tokens between them, and behind them one that shows all of the image.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaFamily, Preparation, TileLimits } from '../../media.ts';
import { tileBounds, type TileGrid } from '../tile-grid.ts';
import { tilePatches } from '../tiles.ts';
import { canvasGrid, canvasTiles } from './llama4-tiles.ts';
import { llama4Rotations, llama4Vision } from './llama4-vision.ts';
import { readLlama4Vision, type Llama4ImageConfig, type Llama4VisionConfig } from './llama4-vision-config.ts';

const TOWER = 'vision';
const [START, WHOLE, END, PATCH] = ['<|image_start|>', '<|image|>', '<|image_end|>', '<|patch|>'];
const [BETWEEN, ROW_END] = ['<|tile_x_separator|>', '<|tile_y_separator|>'];

export const LLAMA4_VISION: MediaFamily = {
  classes: ['Llama4ForConditionalGeneration'],
  read(files) {
    const { tower, images } = readLlama4Vision(files);
    return {
      readers: {
        image: {
          placeholder: WHOLE,
          alpha: 'white',
          tiles: true,
          prepare: (image, limits) => prepareImage(images, tower, image, limits),
        },
      },
      towers: { [TOWER]: (weights) => llama4Vision(tower, weights) },
      spans: false,
    };
  },
};

function* prepareImage(
  { tiles: values, most, fills, rows }: Llama4ImageConfig,
  tower: Llama4VisionConfig,
  image: Pixels,
  limits: TileLimits,
): Preparation {
  const rule = { side: values.side, fills, bounds: tileBounds(limits, { min: 1, max: most }) };
  const grid = canvasGrid(image, rule);
  const cut = grid.columns * grid.rows;
  const count = cut === 1 ? 1 : cut + 1;
  yield count * rows;
  const tiles = yield* canvasTiles(image, grid, rule);
  const shape = [count, (tower.side / tower.patch) ** 2, 3 * tower.patch ** 2];
  return {
    parts: partsOf(grid, rows),
    token: PATCH,
    tower: TOWER,
    inputs: {
      patches: { shape, data: yield* tilePatches(tiles, values) },
      rotations: llama4Rotations(tower),
    },
    layout: null,
  };
}

function partsOf({ rows, columns }: TileGrid, tile: number): (string | number)[] {
  const whole = [WHOLE, tile, END];
  if (rows * columns === 1) return [START, ...whole];
  const row = Array.from({ length: columns }, (_, i) => [tile, i === columns - 1 ? ROW_END : BETWEEN]).flat();
  return [START, ...Array.from({ length: rows }, () => row).flat(), ...whole];
}
