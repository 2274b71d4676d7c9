// Text inside an image file: an iTXt chunk named "parameters" in a PNG, the user comment of the EXIF data in a JPEG or WebP, where
// A1111 and similar programs read it. Written by hand, because libvips writes no text chunks and only ASCII in EXIF.

import { crc32 } from 'node:zlib';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The signature and the header chunk, which comes first in every PNG. */
const PNG_HEAD_BYTES = 33;
const KEYWORD = 'parameters\0';
const EXIF_NAME = 'Exif\0\0';
/** Maximum bytes of a JPEG segment without its length. */
const MAX_SEGMENT_BYTES = 65_533;
/** Flag of a WebP's VP8X chunk. */
const HAS_EXIF = 0x08;

/** Returns the file with the text. A JPEG can contain 32,000 characters; a longer text is left out. */
export function embedText(
  file: Uint8Array,
  text: string,
  size: { width: number; height: number },
): Uint8Array {
  const bytes = asBuffer(file);
  if (isPng(bytes)) return insert(bytes, PNG_HEAD_BYTES, textChunk(text));
  if (isWebp(bytes)) return extendedWebp(bytes, exifOf(text), size);
  const segment = Buffer.concat([Buffer.from(EXIF_NAME, 'latin1'), exifOf(text)]);
  if (segment.length > MAX_SEGMENT_BYTES) return file;
  return insert(bytes, 2, Buffer.concat([Buffer.from([0xff, 0xe1]), uint16(segment.length + 2), segment]));
}

/** Returns the text that `embedText` or another program stored; null if there is none. */
export function embeddedText(file: Uint8Array): string | null {
  const bytes = asBuffer(file);
  if (isPng(bytes)) return textOfPng(bytes);
  const exif = isWebp(bytes) ? exifOfWebp(bytes) : exifOfJpeg(bytes);
  const comment = exif?.indexOf('UNICODE\0') ?? -1;
  if (!exif || comment < 0) return null;
  const text = Buffer.from(exif.subarray(comment + 8));
  return text
    .subarray(0, text.length - (text.length % 2))
    .swap16()
    .toString('utf16le')
    .replace(/\0+$/, '');
}

function textChunk(text: string): Buffer {
  // Not compressed, no language, no translated keyword.
  const body = Buffer.concat([Buffer.from(`iTXt${KEYWORD}\0\0\0\0`, 'latin1'), Buffer.from(text, 'utf8')]);
  return Buffer.concat([uint32(body.length - 4), body, uint32(crc32(body))]);
}

function textOfPng(bytes: Buffer): string | null {
  for (let at = PNG_SIGNATURE.length; at + 12 <= bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const data = bytes.subarray(at + 8, at + 8 + length);
    const isOurs = data.toString('latin1', 0, KEYWORD.length) === KEYWORD;
    if (type === 'tEXt' && isOurs) return data.toString('latin1', KEYWORD.length);
    // Keyword, compressed or not, method, language, 0, translated keyword, 0, text.
    if (type === 'iTXt' && isOurs && data[KEYWORD.length] === 0) {
      const translated = data.indexOf(0, KEYWORD.length + 2) + 1;
      return data.toString('utf8', data.indexOf(0, translated) + 1);
    }
    at += 12 + length;
  }
  return null;
}

/** EXIF data that contains only a user comment: a directory that points to a second one with the comment, one entry each. */
function exifOf(text: string): Buffer {
  const comment = Buffer.concat([Buffer.from('UNICODE\0', 'latin1'), Buffer.from(text, 'utf16le').swap16()]);
  const entry = (tag: number, type: number, count: number, value: number) =>
    Buffer.concat([uint16(1), uint16(tag), uint16(type), uint32(count), uint32(value), uint32(0)]);
  return Buffer.concat([
    Buffer.from('MM\0*', 'latin1'),
    uint32(8),
    entry(0x8769, 4, 1, 26), // a pointer to the second directory
    entry(0x9286, 7, comment.length, 44), // the comment, as bytes without a type
    comment,
  ]);
}

function exifOfJpeg(bytes: Buffer): Buffer | null {
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff;) {
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    const body = bytes.subarray(at + 4, end);
    if (bytes[at + 1] === 0xe1 && body.toString('latin1', 0, EXIF_NAME.length) === EXIF_NAME) return body;
    at = end;
  }
  return null;
}

/** Converts a simple WebP file to an extended one, which can contain metadata. */
function extendedWebp(
  bytes: Buffer,
  exif: Buffer,
  { width, height }: { width: number; height: number },
): Buffer {
  const features = Buffer.alloc(10);
  features.writeUInt8(HAS_EXIF);
  features.writeUIntLE(width - 1, 4, 3);
  features.writeUIntLE(height - 1, 7, 3);
  const body = Buffer.concat([riffChunk('VP8X', features), bytes.subarray(12), riffChunk('EXIF', exif)]);
  const head = Buffer.from('RIFF....WEBP', 'latin1');
  head.writeUInt32LE(body.length + 4, 4);
  return Buffer.concat([head, body]);
}

function exifOfWebp(bytes: Buffer): Buffer | null {
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'EXIF') return bytes.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return null;
}

function riffChunk(name: string, data: Buffer): Buffer {
  const head = Buffer.from(`${name}....`, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

const isPng = (bytes: Buffer): boolean => bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE);
const isWebp = (bytes: Buffer): boolean => /^RIFF[^]{4}WEBP$/.test(bytes.toString('latin1', 0, 12));
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const insert = (bytes: Buffer, at: number, part: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
