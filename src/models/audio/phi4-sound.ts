// Sounds in Phi-4-multimodal: features of any length, of which eight frames are a token.

import { badRequest } from '../../files/error.ts';
import type { AudioReader, PreparedMedium, Preparation, Sound } from '../media.ts';
import { htkMel } from './htk-mel.ts';
import { convolvedBands, JOINED, WINDOW, type Phi4SoundLayout } from './phi4-audio.ts';
import type { Phi4AudioConfig, Phi4Sounds } from './phi4-audio-config.ts';

/** `tower`: name of the encoder; `token`: that of a sound's rows; `shown`: texts of chat templates for a sound. */
export function phi4SoundReader(
  { encoder, mel }: Phi4Sounds,
  {
    tower,
    token,
    shown,
  }: { tower: string; token: PreparedMedium['token']; shown: readonly [string, ...string[]] },
): AudioReader {
  const features = htkMel(mel);
  const order = columnOrder(encoder);

  function* prepare({ samples }: Sound): Preparation {
    const frames = Math.floor((samples.length - mel.window) / mel.hop) + 1;
    if (frames < 1)
      throw badRequest(
        `it lasts ${(samples.length / mel.rate).toFixed(3)} seconds, which is too short to be heard: send a longer one`,
      );
    const rows = Math.ceil(frames / JOINED);
    yield rows;
    const windows = Math.ceil(rows / WINDOW);
    const layout: Phi4SoundLayout = { frames, windows, seen: Math.min(rows, WINDOW), beside: false };
    return {
      parts: [rows],
      token,
      tower,
      inputs: {
        features: { shape: [1, frames, mel.mels], data: yield* features(samples, frames) },
        ...distanceBuckets(layout.seen, encoder.farthest),
        order,
        ...(windows > 1 && { zeros: { shape: [1, encoder.hidden], data: new Float32Array(encoder.hidden) } }),
      },
      layout,
    };
  }
  const [placeholder, ...otherPlaceholders] = shown;
  return { placeholder, otherPlaceholders, rate: mel.rate, prepare };
}

/** A sound in a prompt that has images. */
export function besideImages(sound: PreparedMedium): PreparedMedium {
  return { ...sound, layout: { ...(sound.layout as Phi4SoundLayout), beside: true } };
}

/** Buckets of the distances from the last row to the first, up to those from the first to the last. */
function distanceBuckets(rows: number, farthest: number) {
  const data = Uint32Array.from(
    { length: 2 * rows - 1 },
    (_, i) => Math.min(farthest - 1, Math.max(-farthest, i - rows + 1)) + farthest,
  );
  const shape = [data.length, 1];
  return { distances: { shape, data }, shares: { shape, data: new Float32Array(data.length).fill(1) } };
}

/** Columns channel by channel, of pixels band by band. */
function columnOrder({ channels, mels }: Phi4AudioConfig) {
  const bands = convolvedBands(mels);
  const data = Uint32Array.from(
    { length: channels * bands },
    (_, i) => (i % bands) * channels + Math.floor(i / bands),
  );
  return { shape: [1, data.length], data };
}
