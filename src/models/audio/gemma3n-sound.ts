// Sounds in Gemma 3n: features of at most half a minute. Every sound has as many tokens, whose number the model states.

import { badRequest } from '../../files/error.ts';
import type { AudioReader, Preparation, Sound } from '../media.ts';
import { distanceWaves } from './conformer.ts';
import { framesRead, KEPT, type Gemma3nLayout } from './gemma3n-audio.ts';
import type { Gemma3nSounds } from './gemma3n-audio-config.ts';
import { checkLength } from './gemma4-sound.ts';
import { htkMel, type HtkMelConfig } from './htk-mel.ts';

const [START, TOKEN, END] = ['<start_of_audio>', '<audio_soft_token>', '<end_of_audio>'];
/** Samples of which transformers fills up whole multiples. */
const PIECE = 128;

/** `tower`: name of the encoder. */
export function gemma3nSoundReader({ encoder, mel }: Gemma3nSounds, tower: string): AudioReader {
  const features = htkMel(mel);
  const places = distanceWaves(encoder);
  const { tokens } = encoder;

  function* prepare({ samples }: Sound): Preparation {
    const layout = sizesOf(samples.length, mel);
    checkLength(samples.length / mel.rate, layout.frames);
    if (layout.rows > tokens)
      throw badRequest(
        `it has ${layout.rows} tokens, and this model hears ${tokens} of one sound: send it in parts`,
      );
    yield tokens + 1;
    const read = framesRead(layout.rows);
    const data = new Float32Array(read * mel.mels);
    data.set(yield* features(samples, Math.min(layout.frames, read - 1)), mel.mels);
    return {
      parts: [`\n\n${START}`, tokens, { token: END, rows: 1 }, '\n\n'],
      token: TOKEN,
      tower,
      inputs: { features: { shape: [1, read, mel.mels, 1], data }, places },
      layout,
    };
  }
  return { placeholder: TOKEN, rate: mel.rate, prepare };
}

/** A frame belongs to the sound if it begins in it. */
function sizesOf(samples: number, { window, hop }: HtkMelConfig): Gemma3nLayout {
  const filled = Math.ceil(samples / PIECE) * PIECE;
  const frames = Math.max(0, Math.floor((filled - window - 1) / hop) + 1);
  const own = Math.min(frames, Math.ceil(samples / hop));
  return { frames, rows: Math.ceil(Math.ceil(own / 4) / KEPT) };
}
