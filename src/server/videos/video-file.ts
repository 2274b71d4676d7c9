// The file of a video.

import { encodeImage, type Frames } from '../../index.ts';

/** The first is the default. */
export const VIDEO_FORMATS = ['webp'] as const;
export type VideoFormat = (typeof VIDEO_FORMATS)[number];

export const TYPES: Readonly<Record<VideoFormat, string>> = { webp: 'image/webp' };

export interface VideoEncoding {
  format: VideoFormat;
  fps: number;
  /** 1 to 100. */
  quality: number;
}

export function encodeClip(clip: Frames, { format, fps, quality }: VideoEncoding): Promise<Uint8Array> {
  return encodeImage(clip, { format, quality, frameRate: fps });
}
