// Scales an image to a size with other proportions. Plain arithmetic, so that Node and pages compute equal pixels.

import type { Pixels } from './pixels.ts';
import { Resampling } from './resample.ts';

/** Approximate multiplications between two turns of the event loop: tens of milliseconds. */
const MULTIPLICATIONS = 2 ** 24;
/** Neighbouring bands share source rows, which are filtered for each of them: at least this many rows keep that small. */
const MIN_ROWS = 16;

/**
 * Scales an image to cover width × height with its proportions kept, and crops the rest equally on both sides, like ImageOps.fit of
 * Pillow with its Lanczos filter. The event loop runs between bands of rows of a large image.
 */
export async function coverImage(image: Pixels, width: number, height: number): Promise<Pixels> {
  if (image.width === width && image.height === height) return image;
  const box = coveredBox(image, width / height);
  const resampling = new Resampling(image, width, height, { box });
  const data = new Uint8Array(3 * width * height);
  const rows = rowsPerTurn(width, (box.right - box.left) / width);
  for (let y = 0; y < height; y += rows) {
    if (y > 0) await new Promise((resolve) => setTimeout(resolve));
    data.set(resampling.rows(y, Math.min(y + rows, height)).data, 3 * width * y);
  }
  return { width, height, data };
}

/** The largest part in the middle of the image that has these proportions, in pixels. */
function coveredBox({ width, height }: Pixels, ratio: number): Box {
  const wide = width / height >= ratio;
  const used = wide ? { width: ratio * height, height } : { width, height: width / ratio };
  const left = (width - used.width) / 2;
  const top = (height - used.height) / 2;
  const box = { left, top, right: left + used.width, bottom: top + used.height };
  // Pillow's boxes have 32-bit edges.
  for (const edge of ['left', 'top', 'right', 'bottom'] as const) box[edge] = Math.fround(box[edge]);
  return box;
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Rows to compute at once. Each takes `scale` source rows, and each of their pixels 6 · scale multiplications in three channels. */
function rowsPerTurn(width: number, scale: number): number {
  const shrink = Math.max(scale, 1);
  return Math.max(MIN_ROWS, Math.floor(MULTIPLICATIONS / (width * shrink * 18 * shrink)));
}
