// Images as arrays of pixels, their file formats and limits, on every platform.

import { badRequest, type EngineError, reasonOf } from '../error.ts';
import type { ImageParameters } from './image-metadata.ts';

/** 8-bit sRGB, row by row from the top. */
export interface Pixels {
  width: number;
  height: number;
  /** width · height · 3 bytes, RGB. */
  data: Uint8Array;
}

/** What is drawn: an image, or the frames of a clip one after another, [frames, height, width, 3]. */
export interface Frames extends Pixels {
  /** Left out: 1. */
  frames?: number;
}

/** One frame as an image, over the same bytes. */
export function frameOf({ width, height, data }: Frames, frame: number): Pixels {
  const size = 3 * width * height;
  return { width, height, data: data.subarray(frame * size, (frame + 1) * size) };
}

/** Called with the size that a file states, before memory is allocated for its pixels. Refuses the image by an error of its own. */
export type CheckSize = (size: { width: number; height: number }) => void;

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

export interface EncodeOptions {
  format: ImageFormat;
  /** 1 to 100, for JPEG and WebP. */
  quality?: number;
  /** Frames in a second of a clip; left out: 16. */
  frameRate?: number;
  /** How the image was made: an iTXt chunk in a PNG, the EXIF user comment in others. */
  parameters?: ImageParameters;
}

const DEFAULT_QUALITY = 75;
/** Frames in a second for which models of videos are trained. */
const DEFAULT_FRAME_RATE = 16;
/** Maximum number of pixels of an image that is read: 8192 × 8192. */
export const MAX_PIXELS = 8192 * 8192;
export const TOO_MANY_PIXELS = 'more than 8192 × 8192 pixels';

/** Returns the format for a file name's extension; null for another extension. */
export function imageFormatOf(name: string): ImageFormat | null {
  const ending = /\.([^.\\/]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = ending === 'jpg' ? 'jpeg' : ending;
  return IMAGE_FORMATS.find((known) => known === format) ?? null;
}

/** The quality that the options ask for. Throws bad_request. */
export function qualityOf({ quality = DEFAULT_QUALITY }: Pick<EncodeOptions, 'quality'>): number {
  if (Number.isInteger(quality) && quality >= 1 && quality <= 100) return quality;
  throw badRequest(`quality is ${quality}: give a whole number from 1 to 100`, 'quality');
}

/** Milliseconds of each frame of a clip; null: it is an image. Throws bad_request for a format without frames. */
export function delaysOf(
  { frames = 1 }: Frames,
  { format, frameRate = DEFAULT_FRAME_RATE }: EncodeOptions,
): number[] | null {
  if (frames === 1) return null;
  if (format !== 'webp')
    throw badRequest(`a clip of ${frames} frames is encoded as webp, and not as ${format}`, 'format');
  return frameDelays(frames, frameRate, 1);
}

/** Milliseconds of each frame, as multiples of a clock's ticks. */
export function frameDelays(frames: number, frameRate: number, tick: number): number[] {
  // Rounded ends of frames keep the rate, which rounded lengths would change.
  const end = (frame: number): number => tick * Math.round((1000 * frame) / frameRate / tick);
  return Array.from({ length: frames }, (_, frame) => end(frame + 1) - end(frame));
}

/** Why a file is not decoded, in a decoder's words. libvips has none for an interlaced PNG that ends early. */
export function decoderReason(cause: unknown): string {
  const [line = ''] = reasonOf(cause).split('\n');
  const reason = line.trim().replace(/:$/, '');
  return reason === '' || reason === 'Unknown error' ? 'its pixels end early, or are damaged' : reason;
}

/** The error of a file that is not decoded. `name` is the parameter that held it. */
export function unreadableImage(name: string, reason: string | undefined, cause?: unknown): EngineError {
  return badRequest(
    `${name} cannot be read as an image (${reason}): give a PNG, JPEG, WebP or BMP file`,
    name,
    cause,
  );
}
