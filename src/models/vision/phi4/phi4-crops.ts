// What Phi-4-multimodal's processor makes of an image: it fills a canvas of square crops from the top left, as large as it can, and the whole
// canvas is shown once more in the size of one. Patches behind the image are masked, so that the last row or column of crops may have fewer.

import { badRequest } from '../../../files/error.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { PixelValues } from '../pixel-values.ts';
import { closestGrid, type TileGrid } from '../tile-grid.ts';
import { onCanvas, resized } from '../tiles.ts';

export interface CropRule extends PixelValues {
  /** Pixels along a side of a crop, and of a patch. */
  side: number;
  patch: number;
  /** The most crops. */
  most: number;
  /** See ResampleOptions. */
  rowsFirst: boolean;
}

export interface CropPlan {
  grid: TileGrid;
  /** Size of the image on the canvas. */
  width: number;
  height: number;
  /** Patches along the sides of the last crop of a row, and of a column, that are not masked. */
  across: number;
  down: number;
}

/** Pixels of the shorter side of an image on its canvas, at least. */
const LEAST = 10;

/** Throws bad_request for an image that is much longer than wide. */
export function planCrops(
  image: Pick<Pixels, 'width' | 'height'>,
  { side, patch, most }: CropRule,
): CropPlan {
  const { width, height } = image;
  const covering = { columns: Math.ceil(width / side), rows: Math.ceil(height / side) };
  const isMany = covering.columns * covering.rows > most;
  const grid = isMany ? closestGrid(image, side, { min: 1, max: most }) : covering;
  const canvas = { width: side * grid.columns, height: side * grid.rows };
  const [byWidth, byHeight] = [canvas.width / width, canvas.height / height];
  const size =
    byWidth < byHeight
      ? { width: canvas.width, height: Math.trunc(height * byWidth) }
      : { width: Math.trunc(width * byHeight), height: canvas.height };
  if (Math.min(size.width, size.height) < LEAST)
    throw badRequest(
      `it has ${width} × ${height} pixels, and this model sees no image that is so narrow: send a part of it`,
    );
  const seen = (free: number): number => side / patch - Math.floor(free / patch);
  return { grid, ...size, across: seen(canvas.width - size.width), down: seen(canvas.height - size.height) };
}

/** The image on its canvas, which is white behind it. */
export function* drawCanvas(
  image: Pixels,
  plan: CropPlan,
  { side, rowsFirst }: CropRule,
): Generator<void, Pixels, void> {
  const drawn = yield* resized(image, plan, { filter: 'bilinear', rowsFirst });
  const size = { width: side * plan.grid.columns, height: side * plan.grid.rows };
  return onCanvas(drawn, size, { colour: [255, 255, 255] });
}

/** Taps of torch's bicubic filter, a = −3/4, which is not widened where an image shrinks: their pixels and weights, for each of `to` of `from`. */
function cubicTaps(from: number, to: number): { pixels: number[]; weights: number[] }[] {
  const far = (x: number): number => ((-0.75 * x + 3.75) * x - 6) * x + 3;
  const near = (x: number): number => (1.25 * x - 2.25) * x * x + 1;
  return Array.from({ length: to }, (_, i) => {
    const at = ((i + 0.5) * from) / to - 0.5;
    const first = Math.floor(at);
    const t = at - first;
    return {
      pixels: [-1, 0, 1, 2].map((tap) => Math.min(from - 1, Math.max(0, first + tap))),
      weights: [far(t + 1), near(t), near(1 - t), far(2 - t)],
    };
  });
}

/** Rows of the shrunken canvas between which other work may run. */
const BAND = 32;

/** The canvas in the size of a crop, bytes as numbers that may lie between them and beyond: [side, side, 3]. */
export function* shrinkCanvas(
  { width, height, data }: Pixels,
  side: number,
): Generator<void, Float32Array, void> {
  const [across, down] = [cubicTaps(width, side), cubicTaps(height, side)];
  const made = new Float32Array(3 * side * side);
  for (let y = 0, at = 0; y < side; y++) {
    if (y % BAND === 0) yield;
    const rows = down[y]!;
    for (let x = 0; x < side; x++) {
      const columns = across[x]!;
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = 0; i < 4; i++) {
          const row = rows.pixels[i]! * width;
          let line = 0;
          for (let j = 0; j < 4; j++)
            line += columns.weights[j]! * data[3 * (row + columns.pixels[j]!) + channel]!;
          sum += rows.weights[i]! * line;
        }
        made[at++] = sum;
      }
    }
  }
  return made;
}
