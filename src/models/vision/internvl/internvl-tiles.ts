// What InternVL's processors make of an image: tiles of a grid, and a small image of the whole behind them.

import { resampleInBands, type ResampleOptions } from '../../../files/image/resample.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { TileGrid } from '../tile-grid.ts';
import { gridTiles } from '../tiles.ts';

type Size = Pick<Pixels, 'width' | 'height'>;
type ResampleOrder = Pick<ResampleOptions, 'rowsFirst'>;

/** Cuts an image into tiles, row by row; with `whole`, several tiles are followed by the image itself in the size of one. */
export function* cutTiles(
  image: Pixels,
  { side, grid, whole, ...order }: { side: number; grid: TileGrid; whole: boolean } & ResampleOrder,
): Generator<void, Pixels[], void> {
  const { columns, rows } = grid;
  const canvas = yield* sized(image, { width: columns * side, height: rows * side }, order);
  const tiles = gridTiles(canvas, side, grid);
  if (tilesOfGrid(grid, whole) === tiles.length) return tiles;
  return [...tiles, yield* sized(image, { width: side, height: side }, order)];
}

/** Number of the tiles that `cutTiles` makes. */
export function tilesOfGrid({ columns, rows }: TileGrid, whole: boolean): number {
  const tiles = columns * rows;
  return whole && tiles > 1 ? tiles + 1 : tiles;
}

function* sized(image: Pixels, { width, height }: Size, order: ResampleOrder): Generator<void, Pixels, void> {
  if (image.width === width && image.height === height) return image;
  return yield* resampleInBands(image, width, height, { filter: 'bicubic', ...order });
}
