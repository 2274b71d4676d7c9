// Square tiles of an image, and the values of their patches as towers read them.

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
