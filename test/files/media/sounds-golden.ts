// Sound files of scripts/reference/media_sounds.py, with the samples that transformers reads of them and the features of Whisper's extractor.

import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

interface Stored {
  name: string;
  rate: number;
  channels: number;
  file: string;
  length: number;
  samples: string;
  mels: number;
  frames: number;
  scale: number;
  features: string;
  rest: number;
}

export interface SoundGolden {
  name: string;
  rate: number;
  channels: number;
  file: Uint8Array;
  /** One channel, 16,000 a second. */
  samples: Float32Array;
  /** Of the first frames, mel by mel. */
  features: Float32Array;
  mels: number;
  frames: number;
  /** Value of every later frame. */
  rest: number;
}

export function soundGoldens(): SoundGolden[] {
  const path = new URL('../../golden/media-sounds.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as Stored[]).map((one) => ({
    ...one,
    file: Buffer.from(one.file, 'base64'),
    samples: unpack(one.samples, 32768),
    features: unpack(one.features, one.scale),
  }));
}

function unpack(text: string, scale: number): Float32Array {
  const bytes = inflateSync(Buffer.from(text, 'base64'));
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i) / scale);
}
