// What InternVL's processors make of an image: tiles of a grid, and a small image of the whole behind them.

import { resample, type ResampleOptions } from '../../files/image/resample.ts';
import type { Pixels } from '../../files/image/pixels.ts';
import type { TileGrid } from './tile-grid.ts';
import { gridTiles } from './tiles.ts';

type Size = Pick<Pixels, 'width' | 'height'>;
type ResampleOrder = Pick<ResampleOptions, 'rowsFirst'>;

/** Cuts an image into tiles, row by row; with `whole`, several tiles are followed by the image itself in the size of one. */
export function cutTiles(
  image: Pixels,
  { side, grid, whole, ...order }: { side: number; grid: TileGrid; whole: boolean } & ResampleOrder,
): Pixels[] {
  const { columns, rows } = grid;
  const tiles = gridTiles(sized(image, { width: columns * side, height: rows * side }, order), side, grid);
  return whole && tiles.length > 1 ? [...tiles, sized(image, { width: side, height: side }, order)] : tiles;
}

function sized(image: Pixels, { width, height }: Size, order: ResampleOrder): Pixels {
  if (image.width === width && image.height === height) return image;
  return resample(image, width, height, { filter: 'bicubic', ...order });
}
