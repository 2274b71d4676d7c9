// What the processor of Idefics3 and SmolVLM makes of an image: tiles of a grid, and behind them the whole image in the size of one.

import type { Pixels } from '../../files/image/pixels.ts';
import type { ResampleOptions } from '../../files/image/resample.ts';
import type { TileGrid } from './tile-grid.ts';
import { gridTiles, resized } from './tiles.ts';

type Size = Pick<Pixels, 'width' | 'height'>;
type ResampleOrder = Pick<ResampleOptions, 'rowsFirst'>;

export interface SplitRule {
  /** Pixels along a side of a tile. */
  side: number;
  /** Pixels of the longest side of an image before it is divided. */
  longest: number;
  splits: boolean;
}

export interface SplitImage {
  tiles: Pixels[];
  /** Grid of the tiles before the last one; null: there is one tile. */
  grid: TileGrid | null;
}

/** No image becomes longer than this, whatever the processor's settings say. */
const MOST_PIXELS = 4096;

export function* splitImage(
  image: Pixels,
  { side, longest, splits }: SplitRule,
): Generator<void, SplitImage, void> {
  if (!splits) return { tiles: [yield* wholeTile(image, { side, longest })], grid: null };
  const first = yield* sized(image, firstSize(image, longest));
  const canvas = yield* sized(first, wholeTiles(first, side));
  const grid = gridOf(canvas, side);
  if (grid === null) return { tiles: [canvas], grid };
  const whole = yield* sized(canvas, { width: side, height: side });
  return { tiles: [...gridTiles(canvas, side, grid), whole], grid };
}

/** Number of the tiles that `splitImage` makes. */
export function tilesOfSplit(image: Size, { side, longest, splits }: SplitRule): number {
  const grid = splits ? gridOf(wholeTiles(firstSize(image, longest), side), side) : null;
  return grid === null ? 1 : grid.columns * grid.rows + 1;
}

/** null: one tile. */
function gridOf({ width, height }: Size, side: number): TileGrid | null {
  const grid = { columns: width / side, rows: height / side };
  return grid.columns === 1 && grid.rows === 1 ? null : grid;
}

/** The whole image in the size of a tile, which is resized twice. */
export function* wholeTile(
  image: Pixels,
  { side, longest }: Pick<SplitRule, 'side' | 'longest'>,
  order: ResampleOrder = {},
): Generator<void, Pixels, void> {
  const first = yield* sized(image, firstSize(image, longest), order);
  return yield* sized(first, { width: side, height: side }, order);
}

/** The longest side has its pixels, and the other follows the ratio, rounded up to an even number. */
function firstSize({ width, height }: Size, longest: number): Size {
  const ratio = width / height;
  const even = (pixels: number): number => pixels + (pixels % 2);
  const size =
    width >= height
      ? { width: longest, height: Math.max(1, even(Math.trunc(longest / ratio))) }
      : { width: Math.max(1, even(Math.trunc(longest * ratio))), height: longest };
  return bounded(size);
}

function bounded(size: Size): Size {
  const { width, height } = size;
  const ratio = width / height;
  if (width >= height && width > MOST_PIXELS)
    return { width: MOST_PIXELS, height: Math.max(1, Math.trunc(MOST_PIXELS / ratio)) };
  if (height > width && height > MOST_PIXELS)
    return { width: Math.max(1, Math.trunc(MOST_PIXELS * ratio)), height: MOST_PIXELS };
  return size;
}

/** The longer side is rounded up to whole tiles, and the other follows the ratio and is rounded up likewise. */
function wholeTiles({ width, height }: Size, side: number): Size {
  const up = (pixels: number): number => Math.ceil(pixels / side) * side;
  const ratio = width / height;
  if (width >= height) return { width: up(width), height: up(Math.trunc(up(width) / ratio)) };
  return { width: up(Math.trunc(up(height) * ratio)), height: up(height) };
}

const sized = (image: Pixels, size: Size, order: ResampleOrder = {}): Generator<void, Pixels, void> =>
  resized(image, size, { filter: 'lanczos', ...order });
