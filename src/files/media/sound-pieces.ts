// Sound files piece by piece, so that a long one is refused before all of it is decoded and other work runs in between. Decoders of
// compressed sounds are WebAssembly within npm packages, which run in Node, in pages and in workers.

import { latin1Text, viewOf } from '../image/file-parts.ts';
import { parseWav } from './wav.ts';

export interface SoundPiece {
  /** Samples by channel. */
  channels: readonly Float32Array[];
  /** Samples of a channel per second. */
  rate: number;
}

/** Bytes that are decoded at once: few, because silence of many seconds takes some of them. */
const PIECE_BYTES = 2 ** 11;
/** Samples, of all channels together, that are read of a WAV file at once. */
const PIECE_SAMPLES = 2 ** 16;

interface Decoded {
  channelData: Float32Array[];
  sampleRate: number;
  /** Frames that were not decoded. */
  errors?: readonly { message: string }[];
}

interface Decoder {
  decode(bytes: Uint8Array): Decoded;
  flush?(): Decoded;
  free(): void;
}

interface Codec {
  open(): Promise<Decoder>;
  /** The first place from `at` on where pieces may end; left out: anywhere. */
  end?(bytes: Uint8Array, at: number): number;
  /** Throws an Error with the reason for a file that is cut off. `decoded`: samples of a channel. */
  check(bytes: Uint8Array, decoded: number): void;
}

const VORBIS: Codec = {
  open: async () => (await import('@audio/decode-vorbis')).decoder(),
  check: checkOgg,
};

const CODECS: Readonly<Record<string, Codec>> = {
  MP3: { open: async () => (await import('@audio/decode-mp3')).decoder(), check: checkMp3 },
  FLAC: {
    open: async () => (await import('@audio/decode-flac')).decoder(),
    end: nextFrame,
    check: checkFlac,
  },
  Vorbis: VORBIS,
  Opus: { open: async () => (await import('@audio/decode-opus')).decoder(), check: checkOgg },
  'Ogg FLAC': { open: async () => (await import('@audio/decode-flac')).decoder(), check: checkOgg },
};

/** What the first page of an Ogg file holds. */
const OGG_CODECS: Readonly<Record<string, string>> = {
  OpusHead: 'Opus',
  '\x01vorbis': 'Vorbis',
  '\x7fFLAC': 'Ogg FLAC',
};

/** The length of a sound: samples of a channel, and how many are a second. */
export interface StatedLength {
  samples: number;
  rate: number;
}

/** What a file states of its length before its samples; a FLAC file may have more. null: it states nothing. Throws an Error for a damaged WAV. */
export function statedLength(bytes: Uint8Array, format: string): StatedLength | null {
  if (format === 'WAV') {
    const { frames, rate } = parseWav(bytes);
    return { samples: frames, rate };
  }
  if (format !== 'FLAC' || bytes.length < FLAC_HEAD) return null;
  const [samples, rate] = [flacSamples(bytes), viewOf(bytes).getUint32(18) >>> 12];
  return rate === 0 ? null : { samples, rate };
}

/** Returns the pieces of a file in a format of format.ts; null: the format is not decoded here. */
export function soundPieces(bytes: Uint8Array, format: string): AsyncGenerator<SoundPiece, void> | null {
  if (format === 'WAV') return wavPieces(bytes);
  const start = latin1Text(bytes, 0, 200);
  const mark = Object.keys(OGG_CODECS).find((text) => start.includes(text));
  const codec = CODECS[format === 'Ogg' ? (OGG_CODECS[mark ?? ''] ?? '') : format];
  return codec ? codecPieces(bytes, codec) : null;
}

async function* wavPieces(bytes: Uint8Array): AsyncGenerator<SoundPiece, void> {
  const { channels: count, rate, frames, decode } = parseWav(bytes);
  const most = Math.ceil(PIECE_SAMPLES / count);
  for (let first = 0; first < frames; first += most) {
    const some = Math.min(most, frames - first);
    const samples = decode(first, some);
    const channels = Array.from({ length: count }, () => new Float32Array(some));
    channels.forEach((channel, at) => {
      for (let i = 0; i < some; i++) channel[i] = samples[i * count + at]!;
    });
    yield { channels, rate };
  }
}

async function* codecPieces(
  bytes: Uint8Array,
  { open, end, check }: Codec,
): AsyncGenerator<SoundPiece, void> {
  const decoder = await open();
  let decoded = 0;
  try {
    for (let first = 0, next = 0; first < bytes.length; first = next) {
      next = end?.(bytes, first + PIECE_BYTES) ?? first + PIECE_BYTES;
      const piece = pieceOf(decoder.decode(bytes.subarray(first, next)));
      decoded += piece.channels[0]?.length ?? 0;
      yield piece;
    }
    const last = decoder.flush && pieceOf(decoder.flush());
    decoded += last?.channels[0]?.length ?? 0;
    if (last) yield last;
  } finally {
    decoder.free();
  }
  check(bytes, decoded);
}

function pieceOf({ channelData, sampleRate, errors = [] }: Decoded): SoundPiece {
  if (errors[0]) throw new Error(errors[0].message);
  return { channels: channelData, rate: sampleRate };
}

/** The largest frame that the decoder finds. */
const MOST_FRAME = 2 ** 19;

/** The place of the next two bytes that begin a frame of FLAC: the decoder loses a frame whose header is divided. */
function nextFrame(bytes: Uint8Array, at: number): number {
  const most = Math.min(at + MOST_FRAME, bytes.length);
  while (at < most && (bytes[at] !== 0xff || (bytes[at + 1]! & 0xfe) !== 0xf8)) at++;
  return at;
}

/** Bytes up to the end of what STREAMINFO, the first block, states of samples. */
const FLAC_HEAD = 26;

/** The number of samples of a channel that STREAMINFO states, or zero. */
function flacSamples(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  return (view.getUint8(21) & 15) * 2 ** 32 + view.getUint32(22);
}

function checkFlac(bytes: Uint8Array, decoded: number): void {
  const stated = flacSamples(bytes);
  if (decoded < stated) throw new Error(`${stated} samples stated, ${decoded} there`);
}

const [LAST_PAGE, HEADER] = [4, 27];

/** The last page has a flag, and states its size. */
function checkOgg(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  let flags = 0;
  for (let at = 0; at < bytes.length;) {
    if (at + HEADER > bytes.length || latin1Text(bytes, at, at + 4) !== 'OggS') break;
    flags = view.getUint8(at + 5);
    const segments = bytes.subarray(at + HEADER, at + HEADER + view.getUint8(at + 26));
    at += HEADER + segments.length + segments.reduce((sum, size) => sum + size, 0);
    if (at > bytes.length) throw new Error('its last page is not whole');
  }
  if ((flags & LAST_PAGE) === 0) throw new Error('its last page is missing');
}

/** Samples that encoders add at both ends, and that decoders leave out: a delay, and what fills the last frame. */
const MP3_SLACK = 529 + 2 * 1152;

/** A first frame with the mark Xing or Info states the number of frames, where it has one. */
function checkMp3(bytes: Uint8Array, decoded: number): void {
  const at = latin1Text(bytes, 0, Math.min(bytes.length, 2 ** 16)).search(/Xing|Info/);
  // Behind the frame's header, whose size depends on channels and version.
  const head = [36, 21, 13].map((size) => at - size).find((from) => from >= 0 && bytes[from] === 0xff);
  if (head === undefined || at + 12 > bytes.length) return;
  const view = viewOf(bytes);
  if ((view.getUint32(at + 4) & 1) === 0) return;
  // MPEG 1 has 1152 samples a frame, later versions 576.
  const isFirst = (bytes[head + 1]! & 0x18) === 0x18;
  const stated = view.getUint32(at + 8) * (isFirst ? 1152 : 576);
  if (decoded + MP3_SLACK < stated) throw new Error(`${stated} samples stated, ${decoded} there`);
}
