// The size in which Qwen's vision models see an image: sides that are multiples of a cell, and a number of pixels between bounds.
// Source: smart_resize of transformers' Qwen2-VL processor.

import { badRequest } from '../../files/error.ts';

export interface SizeBounds {
  /** Pixels along one side of a cell. */
  multiple: number;
  minPixels: number;
  maxPixels: number;
  /** Fewest pixels of a side, before their number is bounded; left out: none. */
  least?: number;
  /** Largest ratio of the sides; left out: 200. */
  mostRatio?: number;
  /** Frames of a video whose pixels are counted together, and their number as a multiple of a step's; left out: one. */
  frames?: { count: number; padded: number };
  /** Size that messages tell; left out: that of the image. */
  stated?: Size;
}

interface Size {
  width: number;
  height: number;
}

/** Throws bad_request for an image whose sides differ by a larger factor. */
export function smartSize(
  { width, height }: Size,
  {
    multiple,
    minPixels,
    maxPixels,
    least = 0,
    mostRatio = 200,
    frames = { count: 1, padded: 1 },
    stated = { width, height },
  }: SizeBounds,
): Size {
  if (Math.max(width, height) / Math.min(width, height) > mostRatio) {
    throw badRequest(
      `an image of ${stated.width} × ${stated.height} pixels is too narrow: one side may be at most ${mostRatio} times the other`,
      'image',
    );
  }
  const rounded = (side: number): number => Math.max(least, roundHalfEven(side / multiple) * multiple);
  const size = { width: rounded(width), height: rounded(height) };
  const pixels = frames.padded * size.width * size.height;
  if (pixels > maxPixels) {
    const shrink = Math.sqrt((frames.count * height * width) / maxPixels);
    const down = (side: number): number =>
      Math.max(multiple, Math.floor(side / shrink / multiple) * multiple);
    return { width: down(width), height: down(height) };
  }
  if (pixels >= minPixels) return size;
  const growth = Math.sqrt(minPixels / (frames.count * height * width));
  const up = (side: number): number => Math.ceil((side * growth) / multiple) * multiple;
  return { width: up(width), height: up(height) };
}

/** Rounds halves to even numbers, as Python does. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest === 0.5 ? below + (below % 2) : Math.round(value);
}
