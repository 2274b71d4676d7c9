// The file of a video.

import {
  checkVideo,
  encodeImage,
  encodeVideo,
  EngineError,
  type Frames,
  type ResolvedImageRequest,
  type VideoFormat,
} from '../../index.ts';

export const TYPES: Readonly<Record<VideoFormat, string>> = {
  mp4: 'video/mp4',
  webm: 'video/webm',
  webp: 'image/webp',
  gif: 'image/gif',
};

export interface VideoEncoding {
  format: VideoFormat;
  fps: number;
  /** 1 to 100; left out: the format's own. */
  quality?: number;
}

export function encodeClip(
  clip: Frames,
  { format, ...options }: VideoEncoding,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  // What encodes images has threads of its own.
  if (format === 'webp') return encodeImage(clip, { format, ...options, frameRate: options.fps });
  return encodeVideo(clip, { format, ...options, ...(signal && { signal }) });
}

/** Throws EngineError where videos of a size have no file in a format, or the package that writes it is missing. */
export async function checkEncoding(
  { width, height }: Pick<ResolvedImageRequest, 'width' | 'height'>,
  encoding: VideoEncoding,
): Promise<void> {
  try {
    checkVideo({ width, height, data: new Uint8Array(3 * width * height) }, encoding);
    if (encoding.format === 'webm')
      await encodeClip({ width: 16, height: 16, data: new Uint8Array(3 * 16 * 16) }, encoding);
  } catch (error) {
    const isFormat = error instanceof EngineError && error.param === 'format';
    throw isFormat ? error.underName('output_format') : error;
  }
}
