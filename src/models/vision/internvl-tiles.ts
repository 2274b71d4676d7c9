// What InternVL's processors make of an image: tiles of a grid, and a small image of the whole behind them.

import { resample } from '../../files/image/resample.ts';
import type { Pixels } from '../../files/image/pixels.ts';
import type { TileGrid } from './tile-grid.ts';
import { gridTiles } from './tiles.ts';

/** Cuts an image into tiles, row by row; with `whole`, several tiles are followed by the image itself in the size of one. */
export function cutTiles(image: Pixels, side: number, grid: TileGrid, whole: boolean): Pixels[] {
  const { columns, rows } = grid;
  const tiles = gridTiles(sized(image, columns * side, rows * side), side, grid);
  return whole && tiles.length > 1 ? [...tiles, sized(image, side, side)] : tiles;
}

function sized(image: Pixels, width: number, height: number): Pixels {
  if (image.width === width && image.height === height) return image;
  return resample(image, width, height, { filter: 'bicubic' });
}
