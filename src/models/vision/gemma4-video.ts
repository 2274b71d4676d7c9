// Videos in Gemma 4: frames at equal distances, each seen as a small image behind a text that tells its minute and second.

import type { Pixels } from '../../files/image/pixels.ts';
import type { Clip, MediaInput, Preparation, VideoReader, VideoSource } from '../media.ts';
import { finished } from '../preparation.ts';
import type { Gemma4ImageConfig } from './gemma4-config.ts';
import { gemma4Rows, gemma4Size } from './gemma4-image.ts';
import { resized } from './tiles.ts';

const VIDEO = '<|video|>';

export interface Gemma4VideoConfig {
  images: Gemma4ImageConfig;
  /** The most frames of a video. */
  frames: number;
}

/** What a reader of images shares with one of videos. */
export interface Gemma4Shown {
  /** Name of the tower. */
  tower: string;
  /** Texts before and behind the rows of an image. */
  begin: string;
  end: string;
  /** What the tower reads of images of one size. */
  inputs(
    images: Gemma4ImageConfig,
    frames: readonly Pixels[],
  ): Generator<void, Record<string, MediaInput>, void>;
}

export function gemma4VideoReader(
  { images, frames: most }: Gemma4VideoConfig,
  shown: Gemma4Shown,
): VideoReader {
  const fitted = (frame: Pixels, size: Pick<Pixels, 'width' | 'height'>): Generator<void, Pixels, void> =>
    resized(frame, size, { filter: 'bicubic', rowsFirst: true });

  return {
    placeholder: VIDEO,
    frames: (source) => evenFrames(source, most),
    fit: (frame) => finished(fitted(frame, gemma4Size(frame, images))),
    *prepare(clip): Preparation {
      const size = gemma4Size(clip.source, images);
      const rows = gemma4Rows(size, images);
      yield rows * clip.frames.length;
      const frames: Pixels[] = [];
      for (const frame of clip.frames) frames.push(yield* fitted(frame, size));
      return {
        parts: partsOf(clip, rows, shown),
        token: VIDEO,
        tower: shown.tower,
        inputs: yield* shown.inputs(images, frames),
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

function partsOf({ indices, source }: Clip, rows: number, { begin, end }: Gemma4Shown): (string | number)[] {
  return indices.flatMap((index, i) => {
    const seconds = index / source.fps;
    const time = `${twoDigits(seconds / 60)}:${twoDigits(seconds % 60)}`;
    return [`${i === 0 ? '' : ' '}${time} ${begin}`, rows, end];
  });
}

const twoDigits = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
