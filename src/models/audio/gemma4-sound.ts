// Sounds in Gemma 4: features of at most half a minute, of which four frames are a token.

import { badRequest } from '../../files/error.ts';
import type { AudioReader, Preparation, Sound } from '../media.ts';
import { distanceWaves } from './conformer.ts';
import type { Gemma4Sounds } from './gemma4-audio-config.ts';
import { htkMel, type HtkMelConfig } from './htk-mel.ts';

const [START, TOKEN, END] = ['<|audio>', '<|audio|>', '<audio|>'];
const RATE = 16_000;
/** transformers cuts longer sounds off. */
const MOST_SECONDS = 30;

/** Sounds of Gemma 4 12B, of which each piece of so many samples is a row. `tower`: name of what makes the rows. */
export function gemma4PieceReader(samples: number, tower: string): AudioReader {
  function* prepare(sound: Sound): Preparation {
    const rows = Math.ceil(sound.samples.length / samples);
    yield rows;
    const data = new Float32Array(rows * samples);
    data.set(sound.samples);
    return {
      parts: [START, rows, END],
      token: TOKEN,
      tower,
      inputs: { pieces: { shape: [1, rows, samples], data } },
      layout: null,
    };
  }
  return { placeholder: TOKEN, rate: RATE, prepare };
}

/** `tower`: name of the encoder. */
export function gemma4SoundReader({ encoder, mel }: Gemma4Sounds, tower: string): AudioReader {
  const features = htkMel(mel);
  const places = distanceWaves(encoder);

  function* prepare({ samples }: Sound): Preparation {
    const frames = framesOf(samples.length, mel);
    checkLength(samples.length / mel.rate, frames);
    const rows = Math.ceil(Math.ceil(frames / 2) / 2);
    yield rows;
    return {
      parts: [START, rows, END],
      token: TOKEN,
      tower,
      inputs: {
        features: { shape: [1, frames, mel.mels, 1], data: yield* features(samples, frames) },
        places,
      },
      layout: null,
    };
  }
  return { placeholder: TOKEN, rate: mel.rate, prepare };
}

/** Number of the frames that a sound fills; the first one begins half a window before the sound. */
function framesOf(samples: number, { before, hop }: HtkMelConfig): number {
  return Math.max(0, Math.ceil((samples - before) / hop));
}

/** Throws for a sound of more than `MOST_SECONDS`, and for one without a frame. */
export function checkLength(seconds: number, frames: number): void {
  const length = Number(seconds.toFixed(2));
  if (seconds > MOST_SECONDS)
    throw badRequest(
      `it lasts ${length} seconds, and this model hears at most ${MOST_SECONDS} of one sound: send it in parts`,
    );
  if (frames === 0)
    throw badRequest(`it lasts ${length} seconds, which is too short to be heard: send a longer one`);
}
