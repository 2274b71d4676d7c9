// What the processor of Llama 4 makes of an image: it is put into the upper left corner of a canvas of whole tiles, whose rest is black; several
// tiles are followed by one that shows all of the image.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { TileBounds, TileGrid } from '../tile-grid.ts';
import { gridTiles, onCanvas, resized } from '../tiles.ts';

type Size = Pick<Pixels, 'width' | 'height'>;

export interface CanvasRule {
  /** Pixels along a side of a tile. */
  side: number;
  /** Tiles of the canvas. */
  bounds: TileBounds;
  /** Whether images are enlarged as far as their canvas allows. */
  fills: boolean;
}

/** Torchvision resizes the images. */
const OPTIONS = { filter: 'bilinear', rowsFirst: true } as const;

/** Tiles row by row, then the one that shows all. */
export function* canvasTiles(
  image: Pixels,
  grid: TileGrid,
  rule: CanvasRule,
): Generator<void, Pixels[], void> {
  const { side } = rule;
  const seen = yield* resized(image, sizeWithin(image, grid, rule), OPTIONS);
  yield;
  const canvas = onCanvas(seen, { width: grid.columns * side, height: grid.rows * side });
  const tiles = gridTiles(canvas, side, grid);
  if (tiles.length === 1) return tiles;
  return [...tiles, yield* resized(image, { width: side, height: side }, OPTIONS)];
}

/**
 * Of the canvases on which the image need not shrink, those that enlarge it least (or most, where it fills them), and if there are none, those on which
 * it shrinks least; among them the smallest.
 */
export function canvasGrid(image: Size, { side, bounds, fills }: CanvasRule): TileGrid {
  const grids = gridsWithin(bounds).map((grid) => ({ grid, scale: scaleOn(image, grid, side) }));
  const enlarging = grids.map(({ scale }) => scale).filter((scale) => scale >= 1);
  const wanted =
    enlarging.length === 0
      ? Math.max(...grids.map(({ scale }) => scale))
      : fills
        ? Math.max(...enlarging)
        : Math.min(...enlarging);
  const tiles = ({ columns, rows }: TileGrid): number => columns * rows;
  return grids
    .filter(({ scale }) => scale === wanted)
    .map(({ grid }) => grid)
    .reduce((best, grid) => (tiles(grid) < tiles(best) ? grid : best));
}

/** Computed in f32, as the canvases that scale an image alike are compared. */
function scaleOn({ width, height }: Size, { columns, rows }: TileGrid, side: number): number {
  return Math.min(Math.fround((columns * side) / width), Math.fround((rows * side) / height));
}

function gridsWithin({ min, max }: TileBounds): TileGrid[] {
  const grids: TileGrid[] = [];
  for (let rows = 1; rows <= max; rows++)
    for (let columns = Math.ceil(min / rows); rows * columns <= max; columns++) grids.push({ columns, rows });
  return grids;
}

/** The largest size within the canvas in the ratio of the image. No side becomes longer than a tile's by it, unless images fill their canvas. */
function sizeWithin({ width, height }: Size, { columns, rows }: TileGrid, rule: CanvasRule): Size {
  const [across, down] = [columns * rule.side, rows * rule.side];
  const mostWidth = rule.fills ? across : Math.min(Math.max(width, rule.side), across);
  const mostHeight = rule.fills ? down : Math.min(Math.max(height, rule.side), down);
  const [byWidth, byHeight] = [mostWidth / width, mostHeight / height];
  return byWidth < byHeight
    ? { width: mostWidth, height: Math.max(1, Math.min(Math.floor(height * byWidth), mostHeight)) }
    : { width: Math.max(1, Math.min(Math.floor(width * byHeight), mostWidth)), height: mostHeight };
}
