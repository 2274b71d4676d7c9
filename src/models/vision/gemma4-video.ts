// Videos in Gemma 4: frames at equal distances, each seen as a small image behind a text that tells its minute and second.

import type { Pixels } from '../../files/image/pixels.ts';
import type { Clip, Preparation, VideoReader, VideoSource } from '../media.ts';
import { finished } from '../preparation.ts';
import type { Gemma4ImageConfig, Gemma4VisionConfig } from './gemma4-config.ts';
import { gemma4Inputs, gemma4Size } from './gemma4-image.ts';
import { resized } from './tiles.ts';

const VIDEO = '<|video|>';

export interface Gemma4VideoConfig {
  images: Gemma4ImageConfig;
  /** The most frames of a video. */
  frames: number;
}

/** `around`: texts before and behind the rows of a frame. */
export function gemma4VideoReader(
  tower: Gemma4VisionConfig,
  { images, frames: most }: Gemma4VideoConfig,
  around: { name: string; begin: string; end: string },
): VideoReader {
  const fitted = (frame: Pixels): Generator<void, Pixels, void> =>
    resized(frame, gemma4Size(frame, images), { filter: 'bicubic', rowsFirst: true });

  return {
    placeholder: VIDEO,
    frames: (source) => evenFrames(source, most),
    fit: (frame) => finished(fitted(frame)),
    *prepare(clip): Preparation {
      const { width, height } = gemma4Size(clip.source, images);
      const rows = (width * height) / (tower.patch * tower.pooled) ** 2;
      yield rows * clip.frames.length;
      const shown: Pixels[] = [];
      for (const frame of clip.frames)
        shown.push(yield* resized(frame, { width, height }, { filter: 'bicubic', rowsFirst: true }));
      return {
        parts: partsOf(clip, rows, around),
        token: VIDEO,
        tower: around.name,
        inputs: yield* gemma4Inputs(tower, images, shown),
        layout: null,
      };
    },
  };
}

/** All frames of a short video; transformers refuses it. */
function evenFrames({ frames }: VideoSource, most: number): number[] {
  const count = Math.min(frames, most);
  return Array.from({ length: count }, (_, i) => Math.floor((i * frames) / count));
}

function partsOf(
  { indices, source }: Clip,
  rows: number,
  { begin, end }: { begin: string; end: string },
): (string | number)[] {
  return indices.flatMap((index, i) => {
    const seconds = index / source.fps;
    const time = `${twoDigits(seconds / 60)}:${twoDigits(seconds % 60)}`;
    return [`${i === 0 ? '' : ' '}${time} ${begin}`, rows, end];
  });
}

const twoDigits = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
