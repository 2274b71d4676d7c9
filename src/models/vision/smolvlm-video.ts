// Videos in SmolVLM: frames at equal distances, each seen whole in the size of a tile, behind a text that tells its minute and second.

import type { Pixels } from '../../files/image/pixels.ts';
import type { Clip, VideoReader, VideoSource } from '../media.ts';
import { finished } from '../preparation.ts';
import { wholeTile } from './idefics3-tiles.ts';
import { numberWords } from './number-words.ts';
import { roundHalfEven } from './smart-size.ts';
import type { SmolVlmVideoConfig } from './smolvlm-video-config.ts';

export interface SmolVlmVideoForm {
  /** What stands for a frame in the prompt. */
  frameParts: readonly (string | number)[];
  prepared: (
    tiles: readonly Pixels[],
    parts: readonly (string | number)[],
  ) => ReturnType<VideoReader['prepare']>;
}

const VIDEO = '<video>';
/** Of a long video, seconds that are skipped at the beginning and at the end. */
const SKIPPED = 1;

export function smolVlmVideoReader(config: SmolVlmVideoConfig, form: SmolVlmVideoForm): VideoReader {
  const { side } = config.tiles;
  const isTile = ({ width, height }: Pick<Pixels, 'width' | 'height'>): boolean =>
    width === side && height === side;
  const squared = (frame: Pixels): Generator<void, Pixels, void> =>
    wholeTile(frame, { side, longest: config.longest }, { rowsFirst: true });
  return {
    placeholder: VIDEO,
    isShownAsText: true,
    frames: (source) => evenFrames(source, config),
    // Frames that have the size of a tile from the beginning are resized twice, too, which is left to `prepare`.
    fit: (frame, source) => (isTile(source) ? frame : finished(squared(frame))),
    *prepare(clip) {
      const isFitted = (frame: Pixels): boolean => isTile(frame) && !isTile(clip.source);
      const parts = partsOf(clip, form.frameParts);
      yield parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 0), 0);
      const tiles: Pixels[] = [];
      for (const frame of clip.frames) tiles.push(isFitted(frame) ? frame : yield* squared(frame));
      return yield* form.prepared(tiles, parts);
    },
  };
}

function evenFrames({ frames, fps, duration }: VideoSource, config: SmolVlmVideoConfig): number[] {
  const count = Math.max(1, Math.min(roundHalfEven(config.fps * duration), config.most));
  let [first, last] = [0, frames - 1];
  if (duration - 2 * SKIPPED > config.most * config.fps) {
    const skipped = SKIPPED * fps;
    const [from, to] = [Math.trunc(skipped), Math.min(Math.trunc(frames - skipped), last)];
    if (from < to) [first, last] = [from, to];
  }
  const step = count === 1 ? 0 : (last - first) / (count - 1);
  const chosen = Array.from({ length: count }, (_, i) =>
    i > 0 && i === count - 1 ? last : Math.floor(i * step + first),
  );
  return [...new Set(chosen)];
}

function partsOf({ source, indices }: Clip, frameParts: SmolVlmVideoForm['frameParts']): (string | number)[] {
  const count = numberWords(indices.length);
  const intro = `You are provided the following series of ${count} frames from a ${clockTime(source.duration)} [H:MM:SS] video.\n`;
  const [first, ...others] = frameParts;
  const frames = indices.flatMap((index, i) => {
    const seconds = index / source.fps;
    const time = `${twoDigits(seconds / 60)}:${twoDigits(seconds % 60)}`;
    const before = i === 0 ? intro : '';
    return [`${before}\nFrame from ${time}:${first}`, ...others];
  });
  return [...frames, '\n\n'];
}

const twoDigits = (value: number): string => String(Math.trunc(value)).padStart(2, '0');

/** Hours, minutes and seconds; days before them, as Python prints a length of time. */
function clockTime(duration: number): string {
  const seconds = Math.trunc(duration);
  const days = Math.floor(seconds / 86_400);
  const before = days === 0 ? '' : `${days} day${days === 1 ? '' : 's'}, `;
  const [minutes, hours] = [Math.floor(seconds / 60) % 60, Math.floor(seconds / 3600) % 24];
  return `${before}${hours}:${twoDigits(minutes)}:${twoDigits(seconds % 60)}`;
}
