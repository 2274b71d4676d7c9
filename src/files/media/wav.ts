// WAV files: what the header tells, and the samples in any range of frames. Values are scaled as by libsndfile: a code of n bits is
// divided by 2^(n-1).

import { latin1Text } from '../image/file-parts.ts';
import { UnreadFormat } from './media-error.ts';

/** A sound whose frames (one sample of each channel) are decoded on demand. */
export interface WavSound {
  /** Frames per second. */
  rate: number;
  channels: number;
  frames: number;
  /** The samples of all channels, frame by frame. */
  decode(firstFrame: number, frames: number): Float32Array;
}

type ReadSample = (view: DataView, at: number) => number;

const [PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE] = [1, 3, 6, 7, 0xfffe];

/** Readers of one sample, by format and bits. */
const SAMPLES: Readonly<Record<string, ReadSample>> = {
  [`${PCM}:8`]: (view, at) => (view.getUint8(at) - 128) / 2 ** 7,
  [`${PCM}:16`]: (view, at) => view.getInt16(at, true) / 2 ** 15,
  [`${PCM}:24`]: (view, at) => (view.getInt16(at + 1, true) * 2 ** 8 + view.getUint8(at)) / 2 ** 23,
  [`${PCM}:32`]: (view, at) => view.getInt32(at, true) / 2 ** 31,
  [`${FLOAT}:32`]: (view, at) => view.getFloat32(at, true),
  [`${FLOAT}:64`]: (view, at) => view.getFloat64(at, true),
  [`${A_LAW}:8`]: (view, at) => expandALaw(view.getUint8(at)) / 2 ** 15,
  [`${MU_LAW}:8`]: (view, at) => expandMuLaw(view.getUint8(at)) / 2 ** 15,
};

/** Names of codecs that are not read. */
const UNREAD: Readonly<Record<number, string>> = {
  [PCM]: 'PCM of another width',
  [FLOAT]: 'floating-point numbers of another width',
  2: 'Microsoft ADPCM',
  17: 'IMA ADPCM',
  0x31: 'GSM 6.10',
  0x50: 'MPEG audio',
  0x55: 'MP3',
  0xff: 'AAC',
  0x161: 'Windows Media Audio',
};

/** G.711: sign, three bits of exponent, four of mantissa; even bits are inverted. */
function expandALaw(code: number): number {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 15) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return bits & 128 ? size : -size;
}

/** G.711: all bits are inverted. */
function expandMuLaw(code: number): number {
  const bits = ~code & 255;
  const size = ((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return bits & 128 ? -size : size;
}

/** Sizes that stand for one that was not known when the header was written. */
const UNKNOWN_SIZES = [0, 0xffffffff];

/** The most channels of files that are read. */
const MOST_CHANNELS = 64;

/** Throws an Error with the reason for files that are cut off, and UnreadFormat. */
export function parseWav(bytes: Uint8Array): WavSound {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks = findChunks(view, bytes);
  const { format, channels, rate, block, bits } = readFormat(view, chunks.format);
  const read = SAMPLES[`${format}:${bits}`];
  if (!read)
    throw new UnreadFormat(
      `is a WAV file with ${UNREAD[format] ?? 'samples of an unknown codec'} (format ${format}, ${bits} bits), which is not read; convert it to a WAV file of 16-bit PCM, to FLAC or to MP3`,
    );
  const width = bits / 8;
  if (channels === 0 || rate === 0 || block !== channels * width)
    throw new Error(`frames of ${block} bytes for ${channels} channels of ${bits} bits`);
  if (channels > MOST_CHANNELS)
    throw new UnreadFormat(
      `has ${channels} channels; give a sound of ${MOST_CHANNELS} at most, such as stereo`,
    );
  const { first, size } = chunks.data;
  if (first + size > bytes.length)
    throw new Error(`${size} bytes of samples stated, ${bytes.length - first} there`);
  return {
    rate,
    channels,
    frames: Math.floor(size / block),
    decode(firstFrame, frames) {
      const samples = new Float32Array(frames * channels);
      const start = first + firstFrame * block;
      for (let i = 0; i < samples.length; i++) samples[i] = read(view, start + i * width);
      return samples;
    },
  };
}

interface Chunks {
  format: { first: number; size: number };
  data: { first: number; size: number };
}

function findChunks(view: DataView, bytes: Uint8Array): Chunks {
  let format: Chunks['format'] | null = null;
  let longSize: number | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const id = latin1Text(bytes, at, at + 4);
    const first = at + 8;
    const size = view.getUint32(at + 4, true);
    if (id === 'ds64' && first + 16 <= bytes.length) longSize = Number(view.getBigUint64(first + 8, true));
    if (id === 'fmt ') format = { first, size };
    if (id === 'data') {
      if (!format) throw new Error('its format is not stated before its samples');
      const known = longSize ?? (UNKNOWN_SIZES.includes(size) ? bytes.length - first : size);
      return { format, data: { first, size: known } };
    }
    at = first + size + (size % 2);
  }
  throw new Error('it has no samples');
}

function readFormat(view: DataView, { first, size }: Chunks['format']) {
  if (size < 16) throw new Error(`a format of ${size} bytes`);
  const stated = view.getUint16(first, true);
  const isExtended = stated === EXTENSIBLE && size >= 26;
  return {
    format: isExtended ? view.getUint16(first + 24, true) : stated,
    channels: view.getUint16(first + 2, true),
    rate: view.getUint32(first + 4, true),
    block: view.getUint16(first + 12, true),
    bits: view.getUint16(first + 14, true),
  };
}
