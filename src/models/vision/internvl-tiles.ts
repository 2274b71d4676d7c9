// What InternVL's processors make of an image: tiles of a grid, a small image of the whole behind them, and the patches of each.

import { resample } from '../../files/image/resample.ts';
import type { Pixels } from '../../files/image/pixels.ts';
import type { TileGrid } from './tile-grid.ts';

export interface TileConfig {
  /** Pixels along a side of a tile, and of a patch; the latter divides the former. */
  side: number;
  patch: number;
  /** Factor on a byte; then (value − mean) / spread of each channel. */
  scale: number;
  means: readonly number[];
  spreads: readonly number[];
}

const CHANNELS = 3;

/** Cuts an image into tiles, row by row; with `whole`, several tiles are followed by the image itself in the size of one. */
export function cutTiles(image: Pixels, side: number, grid: TileGrid, whole: boolean): Pixels[] {
  const { columns, rows } = grid;
  const canvas = sized(image, columns * side, rows * side);
  const tiles = Array.from({ length: columns * rows }, (_, i) =>
    cut(canvas, side, (i % columns) * side, Math.floor(i / columns) * side),
  );
  return whole && tiles.length > 1 ? [...tiles, sized(image, side, side)] : tiles;
}

function sized(image: Pixels, width: number, height: number): Pixels {
  if (image.width === width && image.height === height) return image;
  return resample(image, width, height, { filter: 'bicubic' });
}

function cut({ width, data }: Pixels, side: number, left: number, top: number): Pixels {
  const made = new Uint8Array(CHANNELS * side * side);
  for (let y = 0; y < side; y++) {
    const from = CHANNELS * ((top + y) * width + left);
    made.set(data.subarray(from, from + CHANNELS * side), CHANNELS * y * side);
  }
  return { width: side, height: side, data: made };
}

/** Values of the tiles' patches, channel by channel; → [tiles, patches, channels · patch²] */
export function tilePatches(tiles: readonly Pixels[], config: TileConfig): Float32Array<ArrayBuffer> {
  const { side, patch } = config;
  const tables = byteTables(config);
  const across = side / patch;
  const values = new Float32Array(tiles.length * CHANNELS * side * side);
  let at = 0;
  for (const { data } of tiles) {
    for (let i = 0; i < across * across; i++) {
      const [top, left] = [Math.floor(i / across) * patch, (i % across) * patch];
      for (const [channel, table] of tables.entries())
        for (let y = top; y < top + patch; y++)
          for (let x = left; x < left + patch; x++)
            values[at++] = table[data[CHANNELS * (y * side + x) + channel]!]!;
    }
  }
  return values;
}

/** The normalized values of all bytes, by channel. */
function byteTables({ scale, means, spreads }: TileConfig): Float32Array[] {
  return Array.from({ length: CHANNELS }, (_, channel) =>
    Float32Array.from({ length: 256 }, (__, byte) => (byte * scale - means[channel]!) / spreads[channel]!),
  );
}
