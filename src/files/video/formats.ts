// The formats of videos that are written, their options and limits, on every platform.

import { badRequest } from '../error.ts';
import type { ImageParameters } from '../image/image-metadata.ts';
import { type Frames, type Pixels, qualityOf } from '../image/pixels.ts';

/** MP4 with H.264, WebM with VP9, and animations of two image formats. */
export const VIDEO_FORMATS = ['mp4', 'webm', 'webp', 'gif'] as const;
export type VideoFormat = (typeof VIDEO_FORMATS)[number];

export interface VideoOptions {
  format: VideoFormat;
  /** Frames in a second; left out: 16. */
  fps?: number;
  /** 1 to 100; left out: 75. GIF has none. */
  quality?: number;
  /** How the video was made, as a comment in the file. */
  parameters?: ImageParameters;
}

/** Returns the format for a file name's extension; null for another extension. */
export function videoFormatOf(name: string): VideoFormat | null {
  const ending = /\.([^.\\/]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return VIDEO_FORMATS.find((known) => known === ending) ?? null;
}

const DEFAULT_FPS = 16;
const MOST_FPS = 240;

/** The rate that the options ask for. Throws bad_request. */
export function fpsOf({ fps = DEFAULT_FPS }: Pick<VideoOptions, 'fps'>): number {
  if (fps > 0 && fps <= MOST_FPS) return fps;
  throw badRequest(`fps is ${fps}: give a number above 0 and at most ${MOST_FPS}`, 'fps');
}

/** Shorter delays than 20 ms are taken for much longer ones by browsers. */
const MOST_GIF_FPS = 50;
/** The largest frame that decoders of H.264 (level 5.2) are made for: 4096 × 2304. */
export const MOST_BLOCKS = 36_864;
/** Sides that decoders of WebP and GIF files take. */
const MOST_SIDE = { mp4: 8192, webm: 16_384, webp: 16_383, gif: 65_535 };

/** Blocks of 16 × 16 pixels. */
export const blocksOf = ({ width, height }: Pick<Pixels, 'width' | 'height'>): number =>
  Math.ceil(width / 16) * Math.ceil(height / 16);

/** Throws bad_request for frames and options of which the format makes no video. */
export function checkVideo(clip: Frames, options: VideoOptions): void {
  const { width, height, frames = 1, data } = clip;
  const { format } = options;
  if (!VIDEO_FORMATS.includes(format))
    throw badRequest(`format is ${format as string}: give ${VIDEO_FORMATS.join(', ')}`, 'format');
  qualityOf(options);
  const fps = fpsOf(options);
  const isWhole = [width, height, frames].every((count) => Number.isInteger(count) && count > 0);
  if (!isWhole || data.length !== 3 * width * height * frames)
    throw badRequest(
      `a video of ${frames} frames of ${width} × ${height} pixels has ${3 * width * height * frames} bytes, and ${data.length} are given: give three for each pixel`,
      'data',
    );
  if (format === 'gif' && fps > MOST_GIF_FPS)
    throw badRequest(`fps is ${fps}, and a GIF has at most ${MOST_GIF_FPS}: give less, or mp4`, 'fps');
  const isLarge = format === 'mp4' && blocksOf(clip) > MOST_BLOCKS;
  if (isLarge || Math.max(width, height) > MOST_SIDE[format])
    throw badRequest(
      `${width} × ${height} pixels are more than a frame of ${format} has: write a folder of frames, or draw smaller ones`,
      'format',
    );
}
