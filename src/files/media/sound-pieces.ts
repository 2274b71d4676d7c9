// Sound files piece by piece, so that a long one is refused before all of it is decoded and other work runs in between. Decoders of
// compressed sounds are WebAssembly within npm packages, which run in Node, in pages and in workers.

import { latin1Text, viewOf } from '../image/file-parts.ts';
import { flacFrames } from './flac-frames.ts';
import { parseWav } from './wav.ts';

export interface SoundPiece {
  /** Samples by channel. */
  channels: readonly Float32Array[];
  /** Samples of a channel per second. */
  rate: number;
}

/** Bytes that are decoded at once: few, because silence of many seconds takes some of them. */
const PIECE_BYTES = 2 ** 11;
/** Samples, of all channels together, that are read of a WAV or FLAC file at once. */
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
  /** Divides the file into parts that are decoded at once; left out: it may be divided anywhere. Throws an Error for a damaged file. */
  parts?(bytes: Uint8Array): Iterable<CodecPart>;
  /** Throws an Error with the reason for a file that is cut off. `decoded`: samples of a channel. */
  check(bytes: Uint8Array, decoded: number): void;
}

/** Bytes that are decoded at once: those before `end` that no earlier part has. Numbers are samples of a channel. */
interface CodecPart {
  end: number;
  /** The decoder has made at least so many by then. */
  due: number;
  /** There are so many up to `end`; the decoder makes the last of them when it knows that the file is over. */
  total: number;
}

const VORBIS: Codec = {
  open: async () => (await import('@audio/decode-vorbis')).decoder(),
  check: checkOgg,
};

const CODECS: Readonly<Record<string, Codec>> = {
  MP3: { open: async () => (await import('@audio/decode-mp3')).decoder(), check: checkMp3 },
  FLAC: {
    open: async () => (await import('@audio/decode-flac')).decoder(),
    parts: flacParts,
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

/** Returns the length that a file states before its samples, or null if it states none. A FLAC file may be longer. Throws an Error for a damaged WAV file. */
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
  { open, parts = equalParts, check }: Codec,
): AsyncGenerator<SoundPiece, void> {
  const decoder = await open();
  let [first, decoded, stated] = [0, 0, 0];
  const count = (piece: SoundPiece, due: number): SoundPiece => {
    decoded += piece.channels[0]?.length ?? 0;
    if (decoded < due) throw new Error(`${due} samples in its frames, ${decoded} decoded`);
    return piece;
  };
  try {
    for (const { end, due, total } of parts(bytes)) {
      yield count(
        pieceOf(() => decoder.decode(bytes.subarray(first, end))),
        due,
      );
      [first, stated] = [end, total];
    }
    if (decoder.flush)
      yield count(
        pieceOf(() => decoder.flush!()),
        stated,
      );
  } finally {
    decoder.free();
  }
  check(bytes, decoded);
}

/** Throws an Error for the first frame that is not decoded. */
function pieceOf(decode: () => Decoded): SoundPiece {
  const { channelData, sampleRate, errors = [] } = silently(decode);
  if (errors[0]) throw new Error(errors[0].message);
  return { channels: channelData, rate: sampleRate };
}

/** Decoders write warnings about damaged frames on the console. `run` does not wait, so that nothing else is silenced. */
function silently<T>(run: () => T): T {
  const { error, warn } = console;
  Object.assign(console, { error() {}, warn() {} });
  try {
    return run();
  } finally {
    Object.assign(console, { error, warn });
  }
}

function* equalParts(bytes: Uint8Array): Generator<CodecPart, void> {
  for (let end = PIECE_BYTES; end < bytes.length + PIECE_BYTES; end += PIECE_BYTES)
    yield { end, due: 0, total: 0 };
}

/** Parts end between frames, as the decoder loses a frame whose header is divided. It decodes a frame when the next one begins. */
function* flacParts(bytes: Uint8Array): Generator<CodecPart, void> {
  let [first, end, due, total, size] = [0, 0, 0, 0, 0];
  for (const frame of flacFrames(bytes)) {
    [end, due] = [frame.end, total];
    total += frame.samples;
    size += frame.samples * frame.channels;
    if (end - first < PIECE_BYTES && size < PIECE_SAMPLES) continue;
    yield { end, due, total };
    [first, size] = [end, 0];
  }
  if (end > first) yield { end, due, total };
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
