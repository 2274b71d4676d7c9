// Frames of FLAC files: where each ends, and how many samples it has. The checksum of every frame is verified here, as the decoder drops
// damaged frames, and what follows them, without a word.

export interface FlacFrame {
  /** Offset behind its last byte. */
  end: number;
  /** Number of samples of each channel. */
  samples: number;
  channels: number;
}

/** The largest frame that the decoder takes. */
const MOST_FRAME = 2 ** 19;

/** Yields the frames in order. Throws an Error with the reason at the first that is damaged. */
export function* flacFrames(bytes: Uint8Array): Generator<FlacFrame, void> {
  let at = endOfBlocks(bytes);
  // Some encoders state a wrong length of a block before the frames.
  while (at < bytes.length && !readHeader(bytes, at)) at++;
  while (at < bytes.length) {
    const { samples, channels, length } = readHeader(bytes, at)!;
    const end = endOfFrame(bytes, at, at + length);
    if (end === null) throw new Error(`its frame at byte ${at} is not whole`);
    yield { end, samples, channels };
    at = end;
  }
}

/** The end of the blocks of metadata, which the mark fLaC precedes. */
function endOfBlocks(bytes: Uint8Array): number {
  for (let at = 4; at + 4 <= bytes.length;) {
    const isLast = (bytes[at]! & 0x80) !== 0;
    at += 4 + bytes[at + 1]! * 2 ** 16 + bytes[at + 2]! * 2 ** 8 + bytes[at + 3]!;
    if (isLast) return at;
  }
  throw new Error('its metadata is not whole');
}

interface Header {
  /** Length of the header in bytes. */
  length: number;
  samples: number;
  channels: number;
}

/** Codes of block sizes that are stated behind the header's number, in one byte and in two. */
const [SIZE_IN_8, SIZE_IN_16] = [6, 7];

/** The header of a frame that begins here; null: none does. Its last byte is a checksum. */
function readHeader(bytes: Uint8Array, at: number): Header | null {
  if (bytes[at] !== 0xff || (bytes[at + 1]! & 0xfe) !== 0xf8 || at + 6 > bytes.length) return null;
  const [sizes, layout] = [bytes[at + 2]!, bytes[at + 3]!];
  const [block, rate] = [sizes >> 4, sizes & 15];
  if (block === 0 || rate === 15 || layout >> 4 > 10 || (layout & 1) !== 0) return null;
  // The number of the frame or of its first sample, written as UTF-8 writes a character.
  const ones = Math.clz32(~(bytes[at + 4]! << 24));
  const sizeAt = at + 4 + Math.max(1, ones);
  const rateAt = sizeAt + (block === SIZE_IN_8 ? 1 : block === SIZE_IN_16 ? 2 : 0);
  const end = rateAt + (rate === 12 ? 1 : rate === 13 || rate === 14 ? 2 : 0);
  if (end >= bytes.length) return null;
  let sum = 0;
  for (let i = at; i < end; i++) sum = CRC8[sum ^ bytes[i]!]!;
  if (sum !== bytes[end]) return null;
  return {
    length: end + 1 - at,
    samples: blockSize(block, bytes, sizeAt),
    channels: layout >> 4 < 8 ? (layout >> 4) + 1 : 2,
  };
}

function blockSize(code: number, bytes: Uint8Array, at: number): number {
  if (code === SIZE_IN_8) return bytes[at]! + 1;
  if (code === SIZE_IN_16) return bytes[at]! * 2 ** 8 + bytes[at + 1]! + 1;
  if (code === 1) return 192;
  return code < 6 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8);
}

/** The place where another frame begins or the file ends, and up to which the checksum is right; null: there is none. */
function endOfFrame(bytes: Uint8Array, first: number, body: number): number | null {
  const most = Math.min(first + MOST_FRAME, bytes.length);
  let sum = 0;
  for (let at = first; at <= most; at++) {
    // With its own checksum, the sum of a whole frame is zero.
    if (sum === 0 && at > body && (at === bytes.length || readHeader(bytes, at))) return at;
    sum = CRC16[(sum >> 8) ^ (bytes[at] ?? 0)]! ^ ((sum << 8) & 0xffff);
  }
  return null;
}

/** Remainders of each byte by a polynomial of 8 or 16 bits. */
function remainders(bits: 8 | 16, polynomial: number): Uint16Array {
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let value = byte << (bits - 8);
    for (let i = 0; i < 8; i++) value = (value << 1) ^ ((value >> (bits - 1)) & 1 ? polynomial : 0);
    return value & (2 ** bits - 1);
  });
}

const CRC8 = remainders(8, 0x07);
const CRC16 = remainders(16, 0x8005);
