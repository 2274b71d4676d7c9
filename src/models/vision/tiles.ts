// Square tiles of an image, and the values of patches as towers read them.

import type { Pixels } from '../../files/image/pixels.ts';
import { resampleInBands, type ResampleOptions } from '../../files/image/resample.ts';
import { bfloatBits, bfloatValue } from '../../files/tensors/half-values.ts';
import type { PixelValues } from './pixel-values.ts';
import type { TileGrid } from './tile-grid.ts';

export interface PatchConfig extends PixelValues {
  /** Pixels along a side of a patch. */
  patch: number;
}

export interface TileConfig extends PatchConfig {
  /** Pixels along a side of a tile, a multiple of a patch's. */
  side: number;
}

const CHANNELS = 3;

/** The image in another size; itself where it has that size. */
export function* resized(
  image: Pixels,
  { width, height }: Pick<Pixels, 'width' | 'height'>,
  options: ResampleOptions,
): Generator<void, Pixels, void> {
  if (image.width === width && image.height === height) return image;
  return yield* resampleInBands(image, width, height, options);
}

/** Where an image stands on its canvas, and the colour behind it; left out: in the upper left corner, on black. */
interface CanvasPlace {
  left?: number;
  top?: number;
  colour?: readonly [red: number, green: number, blue: number];
}

/** The image on a canvas that is at least as large; itself where it has that size. */
export function onCanvas(
  image: Pixels,
  { width, height }: Pick<Pixels, 'width' | 'height'>,
  { left = 0, top = 0, colour = [0, 0, 0] }: CanvasPlace = {},
): Pixels {
  if (image.width === width && image.height === height) return image;
  const data = new Uint8Array(CHANNELS * width * height);
  const row = CHANNELS * width;
  for (let i = 0; i < row; i++) data[i] = colour[i % CHANNELS]!;
  for (let y = 1; y < height; y++) data.copyWithin(y * row, 0, row);
  const own = CHANNELS * image.width;
  for (let y = 0; y < image.height; y++)
    data.set(image.data.subarray(y * own, (y + 1) * own), (top + y) * row + CHANNELS * left);
  return { width, height, data };
}

/** Cuts a canvas of whole tiles into them, row by row. */
export function gridTiles(canvas: Pixels, side: number, { columns, rows }: TileGrid): Pixels[] {
  return Array.from({ length: columns * rows }, (_, i) =>
    cut(canvas, side, (i % columns) * side, Math.floor(i / columns) * side),
  );
}

function cut({ width, data }: Pixels, side: number, left: number, top: number): Pixels {
  const made = new Uint8Array(CHANNELS * side * side);
  for (let y = 0; y < side; y++) {
    const from = CHANNELS * ((top + y) * width + left);
    made.set(data.subarray(from, from + CHANNELS * side), CHANNELS * y * side);
  }
  return { width: side, height: side, data: made };
}

/** Values of the tiles' patches, channel by channel, a tile at a time; → [tiles, patches, channels · patch²] */
export function* tilePatches(
  tiles: readonly Pixels[],
  config: TileConfig,
): Generator<void, Float32Array<ArrayBuffer>, void> {
  const size = CHANNELS * config.side ** 2;
  const tables = byteTables(config);
  const values = new Float32Array(tiles.length * size);
  for (const [i, tile] of tiles.entries()) {
    yield;
    writePatches(tile, config.patch, tables, values.subarray(i * size));
  }
  return values;
}

/** Values of the patches of an image whose sides are multiples of one; → [patches, channels · patch²] */
export function imagePatches(image: Pixels, config: PatchConfig): Float32Array<ArrayBuffer> {
  const values = new Float32Array(CHANNELS * image.width * image.height);
  writePatches(image, config.patch, byteTables(config), values);
  return values;
}

/** Values of the patches of such an image, pixel by pixel; → [patches, patch² · channels] */
export function pixelPatches(
  { width, height, data }: Pixels,
  { patch, ...config }: PatchConfig,
): Float32Array<ArrayBuffer> {
  const tables = byteTables({ patch, ...config });
  const values = new Float32Array(CHANNELS * width * height);
  let at = 0;
  for (let top = 0; top < height; top += patch)
    for (let left = 0; left < width; left += patch)
      for (let y = top; y < top + patch; y++)
        for (let from = CHANNELS * (y * width + left), x = 0; x < patch; x++)
          for (const table of tables) values[at++] = table[data[from++]!]!;
  return values;
}

function writePatches(
  { width, height, data }: Pixels,
  patch: number,
  tables: readonly Float32Array[],
  values: Float32Array,
): void {
  let at = 0;
  for (let top = 0; top < height; top += patch) {
    for (let left = 0; left < width; left += patch) {
      for (const [channel, table] of tables.entries())
        for (let y = top; y < top + patch; y++)
          for (let x = left; x < left + patch; x++)
            values[at++] = table[data[CHANNELS * (y * width + x) + channel]!]!;
    }
  }
}

/** The normalized values of all bytes, by channel. */
function byteTables({ scale, means, spreads, isBf16 = false }: PatchConfig): Float32Array[] {
  const rounded = isBf16 ? (x: number): number => bfloatValue(bfloatBits(x)) : (x: number): number => x;
  return Array.from({ length: CHANNELS }, (_, channel) => {
    const [mean, spread] = [rounded(means[channel]!), rounded(spreads[channel]!)];
    return Float32Array.from({ length: 256 }, (__, byte) =>
      rounded(rounded(rounded(byte * scale) - mean) / spread),
    );
  });
}
