// Images of LFM2-VL: whole in a size of their own, or, if they are large, as tiles of a grid with the whole image behind them.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaFamily, MediaInput, Preparation, TileLimits } from '../../media.ts';
import { lfm2Vision, type Lfm2Group } from './lfm2-vl.ts';
import { readLfm2Vl, type Lfm2ImageConfig, type Lfm2VisionConfig } from './lfm2-vl-config.ts';
import { placeInputs } from '../resized-places.ts';
import { roundHalfEven, smartSize } from '../smart-size.ts';
import { closestGrid, tileBounds, type TileGrid } from '../tile-grid.ts';
import { gridTiles, imagePatches, pixelPatches, resized } from '../tiles.ts';

const TOWER = 'vision';
const IMAGE = '<image>';
const [START, WHOLE, END] = ['<|image_start|>', '<|img_thumbnail|>', '<|image_end|>'];
/** Torchvision resizes the images. */
const OPTIONS = { filter: 'bilinear', rowsFirst: true } as const;

type Size = Pick<Pixels, 'width' | 'height'>;

export const LFM2_VL: MediaFamily = {
  classes: ['Lfm2VlForConditionalGeneration'],
  read(files) {
    const { tower, images } = readLfm2Vl(files);
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'white',
          tiles: true,
          prepare: (image, limits) => prepareImage(images, tower, image, limits),
        },
      },
      towers: { [TOWER]: (weights) => lfm2Vision(tower, weights) },
      spans: false,
    };
  },
};

function* prepareImage(
  config: Lfm2ImageConfig,
  { places, byChannels }: Pick<Lfm2VisionConfig, 'places' | 'byChannels'>,
  image: Pixels,
  limits: TileLimits,
): Preparation {
  const { side, patch, merge, whole } = config;
  const grid = gridOf(image, config, limits);
  const size = wholeSize(image, config);
  const rowsOf = ({ width, height }: Size): number => (width * height) / (patch * merge) ** 2;
  const tile = rowsOf({ width: side, height: side });
  const shown = grid === null || whole ? rowsOf(size) : 0;
  yield (grid ? grid.columns * grid.rows * tile : 0) + shown;
  const pieces: { images: Pixels[]; size: Size }[] = [];
  if (grid) {
    const canvas = yield* resized(image, { width: grid.columns * side, height: grid.rows * side }, OPTIONS);
    pieces.push({ images: gridTiles(canvas, side, grid), size: { width: side, height: side } });
  }
  if (shown > 0) pieces.push({ images: [yield* resized(image, size, OPTIONS)], size });
  const groups = pieces.map(({ images, size: { width, height } }): Lfm2Group => {
    return { tiles: images.length, rows: height / patch, columns: width / patch };
  });
  const values: Float32Array[] = [];
  for (const one of pieces.flatMap(({ images }) => images)) {
    yield;
    values.push(byChannels ? imagePatches(one, config) : pixelPatches(one, config));
  }
  return {
    parts: partsOf(grid, tile, shown),
    token: IMAGE,
    tower: TOWER,
    inputs: {
      patches: joined(values, 3 * patch ** 2),
      ...Object.assign({}, ...groups.map((group, i) => placeInputs(`group${i}`, places, group))),
    },
    layout: groups,
  };
}

/** null: the image is not divided. */
function gridOf(image: Size, config: Lfm2ImageConfig, limits: TileLimits): TileGrid | null {
  const { patch, merge, cells, tolerance, side } = config;
  const bounds = tileBounds(limits, config.tiles);
  const unit = patch * merge;
  const round = (pixels: number): number => Math.max(patch, roundHalfEven(pixels / unit) * unit);
  const isLarge = round(image.width) * round(image.height) > cells.max * unit ** 2 * tolerance;
  // A grid of one tile would be the whole image.
  return isLarge && bounds.max > 1
    ? closestGrid(image, side, { ...bounds, min: Math.max(2, bounds.min) })
    : null;
}

function wholeSize(image: Size, { patch, merge, cells }: Lfm2ImageConfig): Size {
  const multiple = patch * merge;
  const [minPixels, maxPixels] = [cells.min * multiple ** 2, cells.max * multiple ** 2];
  return smartSize(image, { multiple, minPixels, maxPixels, least: multiple, mostRatio: Infinity });
}

function partsOf(grid: TileGrid | null, tile: number, whole: number): (string | number)[] {
  if (grid === null) return [START, whole, END];
  const tiles = Array.from({ length: grid.rows * grid.columns }, (_, i) => {
    const [row, column] = [Math.floor(i / grid.columns) + 1, (i % grid.columns) + 1];
    return [`${i === 0 ? START : ''}<|img_row_${row}_col_${column}|>`, tile];
  });
  return [...tiles.flat(), ...(whole > 0 ? [WHOLE, whole] : []), END];
}

function joined(values: readonly Float32Array[], columns: number): MediaInput {
  const data = new Float32Array(values.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const one of values) {
    data.set(one, at);
    at += one.length;
  }
  return { shape: [data.length / columns, columns], data };
}
