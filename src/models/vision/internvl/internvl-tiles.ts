// What InternVL's processors make of an image: tiles of a grid, and a small image of the whole behind them.

import type { ResampleOptions } from '../../../files/image/resample.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { TileGrid } from '../tile-grid.ts';
import { gridTiles, resized } from '../tiles.ts';

/** Cuts an image into tiles, row by row; with `whole`, several tiles are followed by the image itself in the size of one. */
export function* cutTiles(
  image: Pixels,
  {
    side,
    grid,
    whole,
    ...order
  }: { side: number; grid: TileGrid; whole: boolean } & Pick<ResampleOptions, 'rowsFirst'>,
): Generator<void, Pixels[], void> {
  const { columns, rows } = grid;
  const options = { filter: 'bicubic', ...order } as const;
  const canvas = yield* resized(image, { width: columns * side, height: rows * side }, options);
  const tiles = gridTiles(canvas, side, grid);
  if (tilesOfGrid(grid, whole) === tiles.length) return tiles;
  return [...tiles, yield* resized(image, { width: side, height: side }, options)];
}

/** Number of the tiles that `cutTiles` makes. */
export function tilesOfGrid({ columns, rows }: TileGrid, whole: boolean): number {
  const tiles = columns * rows;
  return whole && tiles > 1 ? tiles + 1 : tiles;
}
