// A sound as models read it: one channel at the rate of the model.

import { badRequest } from '../error.ts';
import type { Sound } from './decoded.ts';
import { formatOf, TAGGED, withoutTags } from './format.ts';
import { MEDIA_NOUNS } from './media-nouns.ts';
import type { MediaBounds } from './media.ts';
import { beyond, undecodable } from './media-error.ts';
import { SoundCollector } from './sound-collector.ts';
import { type SoundPiece, soundPieces, type StatedLength, statedLength } from './sound-pieces.ts';

export interface SoundReading {
  bounds: Pick<MediaBounds, 'maxMediaSeconds'>;
  /** Samples per second of the result. */
  rate: number;
  signal?: AbortSignal;
}

/** Rates of sounds that are read, in samples per second. */
export const [LEAST_RATE, MOST_RATE] = [1000, 384_000];

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
  return async (file, name, reading) => {
    const format = formatOf(file, 'audio', name);
    // Decoders of other formats do not know the tags of MP3 files.
    const bytes = TAGGED.includes(format) ? withoutTags(file) : file;
    try {
      const stated = statedLength(bytes, format);
      if (stated) checkLength(stated, name, reading);
      const seconds = stated && stated.samples / stated.rate;
      const collector = new SoundCollector(reading.rate, seconds, reading.signal);
      const pieces = soundPieces(bytes, format) ?? (await openContainer(bytes, name, format));
      return await collect(pieces, collector, name, reading);
    } catch (cause) {
      if (reading.signal?.aborted) throw cause;
      throw undecodable(name, MEDIA_NOUNS.audio.one, cause);
    }
  };
}

async function collect(
  pieces: AsyncGenerator<SoundPiece, void>,
  collector: SoundCollector,
  name: string,
  reading: SoundReading,
): Promise<Sound> {
  let [rate, length] = [0, 0];
  for await (const { channels, rate: own } of pieces) {
    await collector.pause();
    if (!channels[0]?.length) continue;
    if (rate !== 0 && own !== rate) throw new Error(`its rate changes from ${rate} to ${own}`);
    rate = own;
    length += channels[0].length;
    checkLength({ samples: length, rate }, name, reading);
    const samples = meanOf(channels);
    if (!areFinite(samples)) throw new Error('a sample is not a finite number');
    await collector.add(samples, rate);
  }
  await collector.pause();
  if (length === 0) throw badRequest(`${name} has no samples; give a sound with some`, name);
  return collector.end();
}

/** Throws bad_request for rates that are not read, and for sounds that are too long. */
function checkLength({ samples, rate }: StatedLength, name: string, { bounds }: SoundReading): void {
  if (rate < LEAST_RATE || rate > MOST_RATE)
    throw badRequest(
      `${name} has ${rate} samples a second; give a sound of ${LEAST_RATE} to ${MOST_RATE}`,
      name,
    );
  const most = bounds.maxMediaSeconds;
  if (samples > most * rate) throw beyond(name, `lasts more than ${most} seconds`, 'maxMediaSeconds', most);
}

function meanOf(channels: readonly Float32Array[]): Float32Array {
  const [first] = channels;
  if (channels.length === 1) return first!;
  return first!.map((_, i) => channels.reduce((sum, channel) => sum + channel[i]!, 0) / channels.length);
}

function areFinite(samples: Float32Array): boolean {
  for (let i = 0; i < samples.length; i++) if (!Number.isFinite(samples[i])) return false;
  return true;
}

/** The sound at another rate; rates are whole numbers. Throws the signal's reason. */
export async function resampleSound(
  { samples, rate }: Sound,
  { rate: wanted, signal }: Pick<SoundReading, 'rate' | 'signal'>,
): Promise<Sound> {
  if (rate === wanted) return { samples, rate };
  const collector = new SoundCollector(wanted, samples.length / rate, signal);
  await collector.add(samples, rate);
  return collector.end();
}
