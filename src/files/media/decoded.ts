// Decoded media as plain data. Images are `Pixels` (files/image/pixels.ts).

import type { Pixels } from '../image/pixels.ts';

export type MediaKind = 'image' | 'video' | 'audio';

/** Pixels with alpha, as an ImageData of a page has them. */
export interface RgbaPixels {
  width: number;
  height: number;
  /** width · height · 4 bytes, RGB not multiplied by alpha. */
  data: Uint8Array | Uint8ClampedArray;
}

/** What the header of a video tells before frames are decoded. */
export interface VideoSource {
  width: number;
  height: number;
  /** Number of frames. */
  frames: number;
  /** Frames per second, on average. */
  fps: number;
  /** Seconds. */
  duration: number;
}

/** Frames that were chosen of a video, in order. */
export interface Clip {
  source: VideoSource;
  frames: readonly Pixels[];
  /** Indices of the frames in the source. */
  indices: readonly number[];
  /** Whether the frames are what the model's `fit` made of them; left out: they are as they were filmed. */
  isFitted?: true;
}

/** One channel of samples, -1 to 1. */
export interface Sound {
  samples: Float32Array;
  /** Samples per second. */
  rate: number;
}

/** Limits that a request sets on the tiles of an image; left out: the model's own. */
export interface TileLimits {
  minTiles?: number;
  maxTiles?: number;
}
