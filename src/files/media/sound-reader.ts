// A sound as models read it: one channel at the rate of the model.

import { EngineError } from '../error.ts';
import type { Sound } from './decoded.ts';
import { formatOf } from './format.ts';
import { MEDIA_NOUNS } from '../media-nouns.ts';
import type { MediaBounds } from './media.ts';
import { beyond, undecodable } from './media-error.ts';
import { resampler } from './resample-sound.ts';
import { type SoundPiece, soundPieces, statedSeconds } from './sound-pieces.ts';

export interface SoundReading {
  bounds: Pick<MediaBounds, 'maxMediaSeconds'>;
  /** Samples per second of the result. */
  rate: number;
  signal?: AbortSignal;
}

/** Rates of sounds that are read, in samples per second. */
export const [LEAST_RATE, MOST_RATE] = [1000, 384_000];
/** Milliseconds of decoding after which other work runs. */
const TURN = 5;
/** Samples that are resampled before other work runs. */
const TURN_SAMPLES = 2 ** 14;

/** Opens the sound of a container that is not read here. Throws unsupported where nothing decodes it, and bad_request. */
export type OpenContainer = (
  bytes: Uint8Array,
  name: string,
  format: string,
) => Promise<AsyncGenerator<SoundPiece, void>>;

/**
 * Returns a function that decodes sounds; channels are averaged. `name` is the parameter that holds one, for messages. It throws bad_request,
 * unsupported for formats without the optional package that decodes them, and the signal's reason.
 */
export function soundReader(
  openContainer: OpenContainer,
): (bytes: Uint8Array, name: string, reading: SoundReading) => Promise<Sound> {
  return async (bytes, name, reading) => {
    const format = formatOf(bytes, 'audio', name);
    try {
      const most = reading.bounds.maxMediaSeconds;
      if ((statedSeconds(bytes, format) ?? 0) > most) throw tooLong(name, most);
      const pieces = soundPieces(bytes, format) ?? (await openContainer(bytes, name, format));
      return await resampleSound(await join(pieces, name, reading), reading);
    } catch (cause) {
      if (reading.signal?.aborted) throw cause;
      throw undecodable(name, MEDIA_NOUNS.audio.one, cause);
    }
  };
}

async function join(
  pieces: AsyncGenerator<SoundPiece, void>,
  name: string,
  { bounds: { maxMediaSeconds: most }, signal }: SoundReading,
): Promise<Sound> {
  const parts: Float32Array[] = [];
  let [rate, length] = [0, 0];
  let began = performance.now();
  for await (const piece of pieces) {
    if (!piece.channels[0]?.length) continue;
    if (rate !== 0 && piece.rate !== rate) throw new Error(`its rate changes from ${rate} to ${piece.rate}`);
    rate = piece.rate;
    if (rate < LEAST_RATE || rate > MOST_RATE)
      throw new EngineError(
        'bad_request',
        `${name} has ${rate} samples a second; give a sound of ${LEAST_RATE} to ${MOST_RATE}`,
        { param: name },
      );
    parts.push(meanOf(piece.channels));
    length += piece.channels[0].length;
    if (length > most * rate) throw tooLong(name, most);
    signal?.throwIfAborted();
    if (performance.now() - began < TURN) continue;
    await turn();
    began = performance.now();
  }
  signal?.throwIfAborted();
  if (length === 0)
    throw new EngineError('bad_request', `${name} has no samples; give a sound with some`, { param: name });
  const samples = new Float32Array(length);
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  if (!samples.every(Number.isFinite)) throw new Error('a sample is not a finite number');
  return { samples, rate };
}

const tooLong = (name: string, most: number): EngineError =>
  beyond(name, `lasts more than ${most} seconds`, 'maxMediaSeconds', most);

function meanOf(channels: readonly Float32Array[]): Float32Array {
  const [first] = channels;
  if (channels.length === 1) return first!;
  return first!.map((_, i) => channels.reduce((sum, channel) => sum + channel[i]!, 0) / channels.length);
}

/** The sound at another rate; rates are whole numbers. Throws the signal's reason. */
export async function resampleSound(
  { samples, rate }: Sound,
  { rate: wanted, signal }: Pick<SoundReading, 'rate' | 'signal'>,
): Promise<Sound> {
  if (rate === wanted) return { samples, rate };
  const { length, resample } = resampler(rate, wanted);
  const result = new Float32Array(length(samples.length));
  for (let first = 0; first < result.length; first += TURN_SAMPLES) {
    result.set(resample(samples, first, Math.min(TURN_SAMPLES, result.length - first)), first);
    await turn();
    signal?.throwIfAborted();
  }
  return { samples: result, rate: wanted };
}

/** Lets other work run. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
