// A video as a file, in Node: MP4 by WASM, WebM by FFmpeg, which an optional package brings, animations by libvips.

import { encodeImage } from '../image/image.ts';
import { parametersText } from '../image/image-metadata.ts';
import { frameDelays, type Frames } from '../image/pixels.ts';
import { encodeMp4 } from './encode-mp4.ts';
import { encodeWebm } from './encode-webm.ts';
import { fpsOf, type VideoOptions } from './formats.ts';
import { withComment } from './gif-comment.ts';

/** Encodes frames that were checked. Throws unsupported for WebM without its package. */
export function encodeFrames(clip: Frames, options: VideoOptions): Promise<Uint8Array> {
  switch (options.format) {
    case 'mp4':
      return encodeMp4(clip, options);
    case 'webm':
      return encodeWebm(clip, options);
    case 'webp':
      return encodeWebp(clip, options);
    case 'gif':
      return encodeGif(clip, options);
  }
}

async function encodeWebp(clip: Frames, { fps, ...options }: VideoOptions): Promise<Uint8Array> {
  return encodeImage(clip, { ...options, format: 'webp', ...(fps !== undefined && { frameRate: fps }) });
}

/** GIF counts hundredths of a second. */
const TICK_MS = 10;

async function encodeGif(clip: Frames, options: VideoOptions): Promise<Uint8Array> {
  const { width, height, frames = 1, data } = clip;
  const { default: sharp } = await import('sharp');
  const delay = frameDelays(frames, fpsOf(options), TICK_MS);
  const raw = {
    width,
    height: frames * height,
    channels: 3,
    ...(frames > 1 && { pageHeight: height }),
  } as const;
  const file = await sharp(data, { raw }).gif({ delay, loop: 0 }).toBuffer();
  const { parameters } = options;
  return parameters === undefined ? file : withComment(file, parametersText(parameters));
}
