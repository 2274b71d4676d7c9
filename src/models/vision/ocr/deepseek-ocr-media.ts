// Images of DeepSeek-OCR: the whole image in a square, with grey beside it, and before that tiles of a grid that follows its ratio, where it is larger
// than one. A request that bounds tiles to one sees the whole image alone, as the published program's mode `Base` does.

import type { Pixels } from '../../../files/image/pixels.ts';
import { resampleInBands } from '../../../files/image/resample.ts';
import type { MediaFamily, Preparation, TileLimits } from '../../media.ts';
import { roundHalfEven } from '../smart-size.ts';
import { closestGrid, tileBounds, type TileGrid } from '../tile-grid.ts';
import { gridTiles, onCanvas, resized, tilePatches } from '../tiles.ts';
import { cellsAcross, deepseekOcrVision, orderInputs, sizeInputs } from './deepseek-ocr.ts';
import { readDeepseekOcr, type DeepseekOcrConfig } from './deepseek-ocr-config.ts';

const [TOWER, IMAGE] = ['vision', '<image>'];

export const DEEPSEEK_OCR: MediaFamily = {
  classes: ['DeepseekOCRForCausalLM'],
  withoutProcessors: ['DeepseekOCRForCausalLM'],
  read(files) {
    const config = readDeepseekOcr(files);
    return {
      readers: {
        image: {
          placeholder: IMAGE,
          alpha: 'dropped',
          tiles: true,
          prepare: (image, limits) => prepareImage(config, image, limits),
        },
      },
      towers: { [TOWER]: (weights) => deepseekOcrVision(config, weights) },
      spans: false,
    };
  },
};

function* prepareImage(config: DeepseekOcrConfig, image: Pixels, limits: TileLimits): Preparation {
  const { whole, tile, values, sam } = config;
  const { patch } = sam;
  const grid = gridOf(config, image, limits);
  const cells = { tile: cellsAcross(tile / patch), whole: cellsAcross(whole / patch) };
  const order = orderInputs(grid, cells);
  const rows = order.orderSources.data.length;
  yield rows;
  const shown = yield* inSquare(image, whole, config);
  const patchesOf = function* (key: 'whole' | 'tiles', side: number, squares: readonly Pixels[]) {
    const data = yield* tilePatches(squares, { ...values, patch, side });
    const shape = [squares.length, (side / patch) ** 2, 3 * patch ** 2];
    return { [key]: { shape, data }, ...sizeInputs(key, config, side / patch) };
  };
  const inputs = { ...(yield* patchesOf('whole', whole, [shown])), ...order };
  if (grid !== null) {
    const size = { width: tile * grid.columns, height: tile * grid.rows };
    const canvas = yield* resized(image, size, { filter: 'bicubic' });
    Object.assign(inputs, yield* patchesOf('tiles', tile, gridTiles(canvas, tile, grid)));
  }
  return { parts: [rows], token: IMAGE, tower: TOWER, inputs, layout: null };
}

/** null: the whole image is seen alone. */
function gridOf({ tile, bounds }: DeepseekOcrConfig, image: Pixels, limits: TileLimits): TileGrid | null {
  const within = tileBounds(limits, bounds);
  if (Math.max(image.width, image.height) <= tile) return null;
  const grid = closestGrid(image, tile, within);
  return grid.columns * grid.rows === 1 ? null : grid;
}

/** The image as large as a square of that side allows, in its middle, as Pillow's `ImageOps.pad` draws it. */
function* inSquare(
  image: Pixels,
  side: number,
  { values: { means } }: DeepseekOcrConfig,
): Generator<void, Pixels, void> {
  const { width, height } = image;
  const isWide = width > height;
  const size = {
    width: isWide ? side : roundHalfEven((width / height) * side),
    height: isWide ? roundHalfEven((height / width) * side) : side,
  };
  const drawn = yield* resampleInBands(image, Math.max(1, size.width), Math.max(1, size.height), {
    filter: 'bicubic',
  });
  const [red, green, blue] = means.map((mean) => Math.trunc(mean * 255)) as [number, number, number];
  return onCanvas(
    drawn,
    { width: side, height: side },
    {
      left: roundHalfEven((side - drawn.width) / 2),
      top: roundHalfEven((side - drawn.height) / 2),
      colour: [red, green, blue],
    },
  );
}
