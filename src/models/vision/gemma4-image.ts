// What Gemma 4's tower reads of images of one size: patches, rotations, positions, and the patches of each row.

import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaInput } from '../media.ts';
import type { Gemma4ImageConfig, Gemma4VisionConfig } from './gemma4-config.ts';
import { pixelPatches } from './tiles.ts';

interface Size {
  width: number;
  height: number;
}

/** The largest size of an image's shape with no more rows than the processor allows, in whole squares of patches. */
export function gemma4Size({ width, height }: Size, { patch, pooled, most }: Gemma4ImageConfig): Size {
  const cell = patch * pooled;
  const growth = Math.sqrt((most * cell ** 2) / (height * width));
  const whole = (side: number): number => Math.floor((growth * side) / cell) * cell;
  const size = { width: whole(width), height: whole(height) };
  // A line of squares, of which a narrow image fills as many as its ratio says.
  const along = (long: number, short: number): number => Math.min(Math.floor(long / short), most) * cell;
  if (size.height === 0) return { width: along(width, height), height: cell };
  if (size.width === 0) return { width: cell, height: along(height, width) };
  return size;
}

/** Rows of an image of such a size. */
export function gemma4Rows({ width, height }: Size, { patch, pooled }: Gemma4ImageConfig): number {
  return (width * height) / (patch * pooled) ** 2;
}

/** Inputs for frames of one size, a multiple of a square's; see gemma4Vision. */
export function* gemma4Inputs(
  tower: Gemma4VisionConfig,
  images: Gemma4ImageConfig,
  frames: readonly Pixels[],
): Generator<void, Record<string, MediaInput>, void> {
  const { patch } = tower;
  const [first] = frames;
  const grid = { rows: first!.height / patch, columns: first!.width / patch };
  const n = grid.rows * grid.columns;
  const values = new Float32Array(frames.length * n * 3 * patch ** 2);
  for (const [i, frame] of frames.entries()) {
    yield;
    values.set(pixelPatches(frame, images), (i * values.length) / frames.length);
  }
  const across = grid.columns;
  const columnOf = (i: number): number => i % across;
  const rowOf = (i: number): number => Math.floor(i / across);
  const places = Uint32Array.from({ length: 2 * n }, (_, i) =>
    i % 2 === 0 ? columnOf(i / 2) : tower.positions + rowOf((i - 1) / 2),
  );
  yield;
  return {
    patches: { shape: [frames.length, n, 3 * patch ** 2], data: values },
    places: { shape: [n, 2], data: places },
    parts: { shape: [n, 2], data: new Float32Array(2 * n).fill(1) },
    rotations: { shape: [n, tower.dims], data: rotationsOf(tower, n, [columnOf, rowOf]) },
    ...meansOf(tower, grid),
  };
}

/** A half of a head turns by a patch's column, the other one by its row; angles are computed in f32. */
function rotationsOf(
  { dims, theta }: Gemma4VisionConfig,
  n: number,
  axes: readonly ((patch: number) => number)[],
): Float32Array<ArrayBuffer> {
  const rates = Float32Array.from({ length: dims / 4 }, (_, i) => 1 / Math.fround(theta ** ((4 * i) / dims)));
  const table = new Float32Array(n * dims);
  let at = 0;
  for (let patch = 0; patch < n; patch++)
    for (const axis of axes)
      for (const rate of rates) {
        const angle = Math.fround(axis(patch) * rate);
        table[at++] = Math.cos(angle);
        table[at++] = Math.sin(angle);
      }
  return table;
}

/** Patches of each square, row by row, and their shares of its mean, which is multiplied by √hidden. */
function meansOf(
  { pooled, hidden }: Gemma4VisionConfig,
  { rows, columns }: { rows: number; columns: number },
): Record<'sources' | 'shares', MediaInput> {
  const taps = pooled ** 2;
  const across = columns / pooled;
  const shape = [(rows / pooled) * across, taps];
  const sources = Uint32Array.from({ length: shape[0]! * taps }, (_, i) => {
    const [square, tap] = [Math.floor(i / taps), i % taps];
    const y = Math.floor(square / across) * pooled + Math.floor(tap / pooled);
    return y * columns + (square % across) * pooled + (tap % pooled);
  });
  const shares = new Float32Array(sources.length).fill(Math.sqrt(hidden) / taps);
  return { sources: { shape, data: sources }, shares: { shape, data: shares } };
}
