// A video as an MP4 file, wherever JavaScript runs. It computes without pause: a worker calls this.

import { parametersText } from '../image/image-metadata.ts';
import { type Frames, qualityOf } from '../image/pixels.ts';
import { fpsOf, type VideoOptions } from './formats.ts';
import { encodeH264 } from './h264-wasm.ts';
import { writeMp4 } from './mp4.ts';

export async function encodeMp4(clip: Frames, options: VideoOptions): Promise<Uint8Array> {
  const { parameters } = options;
  const video = await encodeH264(clip, {
    fps: fpsOf(options),
    quantizer: quantizerOf(qualityOf(options)),
  });
  return writeMp4(video, parameters && parametersText(parameters));
}

const [FINEST, COARSEST] = [10, 51];

/** 14 at a quality of 75, where colours of smooth parts differ by at most 4 of 255; each step of 6 doubles the error. */
const quantizerOf = (quality: number): number =>
  Math.min(COARSEST, FINEST + Math.round(((100 - quality) / 12.5) ** 2));
