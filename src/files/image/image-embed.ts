// Text inside an image file: an iTXt chunk named "parameters" in a PNG, the user comment of the EXIF data in a JPEG or WebP, where
// A1111 and similar programs read it. libvips writes only ASCII in EXIF, and canvases write no text.

import {
  latin1Bytes,
  concatBytes,
  isPng,
  isWebp,
  jpegSegments,
  latin1Text,
  pngChunk,
  pngChunks,
  riffChunk,
  riffChunks,
  uint16,
  uint24LittleEndian,
  uint32,
  viewOf,
} from './file-parts.ts';

/** The signature and the header chunk, which comes first in every PNG. */
const PNG_HEAD_BYTES = 33;
const KEYWORD = 'parameters\0';
const EXIF_NAME = 'Exif\0\0';
const COMMENT_NAME = 'UNICODE\0';
const APP1 = '\xe1';
/** Maximum bytes of a JPEG segment without its length. */
const MAX_SEGMENT_BYTES = 65_533;
/** Offset of the flags of an extended WebP file, in its VP8X chunk. */
const FEATURES_AT = 20;
const HAS_EXIF = 0x08;

/** Returns the file with the text. A JPEG can contain 32,000 characters; a longer text is left out. */
export function embedText(
  file: Uint8Array,
  text: string,
  size: { width: number; height: number },
): Uint8Array {
  if (isPng(file)) return insert(file, PNG_HEAD_BYTES, textChunk(text));
  if (isWebp(file)) return extendedWebp(file, exifOf(text), size);
  const segment = concatBytes(latin1Bytes(EXIF_NAME), exifOf(text));
  if (segment.length > MAX_SEGMENT_BYTES) return file;
  return insert(file, 2, concatBytes(Uint8Array.of(0xff, 0xe1), uint16(segment.length + 2), segment));
}

/** Returns the text that `embedText` or another program stored; null if there is none. */
export function embeddedText(file: Uint8Array): string | null {
  if (isPng(file)) return textOfPng(file);
  const exif = exifIn(file);
  const comment = exif === null ? -1 : latin1Text(exif).indexOf(COMMENT_NAME);
  if (exif === null || comment < 0) return null;
  return utf16Text(exif.subarray(comment + COMMENT_NAME.length)).replace(/\0+$/, '');
}

function textChunk(text: string): Uint8Array {
  // Not compressed, no language, no translated keyword.
  return pngChunk('iTXt', concatBytes(latin1Bytes(`${KEYWORD}\0\0\0\0`), new TextEncoder().encode(text)));
}

function textOfPng(file: Uint8Array): string | null {
  for (const { type, data } of pngChunks(file)) {
    if (latin1Text(data, 0, KEYWORD.length) !== KEYWORD) continue;
    if (type === 'tEXt') return latin1Text(data, KEYWORD.length);
    // Keyword, compressed or not, method, language, 0, translated keyword, 0, text.
    if (type === 'iTXt' && data[KEYWORD.length] === 0) {
      const translated = data.indexOf(0, KEYWORD.length + 2) + 1;
      const text = data.subarray(data.indexOf(0, translated) + 1);
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(text);
    }
  }
  return null;
}

/** EXIF data that contains only a user comment: a directory that points to a second one with the comment, one entry each. */
function exifOf(text: string): Uint8Array {
  const comment = concatBytes(latin1Bytes(COMMENT_NAME), utf16Bytes(text));
  const entry = (tag: number, type: number, count: number, value: number) =>
    concatBytes(uint16(1), uint16(tag), uint16(type), uint32(count), uint32(value), uint32(0));
  return concatBytes(
    latin1Bytes('MM\0*'),
    uint32(8),
    entry(0x8769, 4, 1, 26), // a pointer to the second directory
    entry(0x9286, 7, comment.length, 44), // the comment, as bytes without a type
    comment,
  );
}

/** The EXIF data of a JPEG or WebP, with its name in a JPEG. */
function exifIn(file: Uint8Array): Uint8Array | null {
  if (isWebp(file)) {
    for (const { type, data } of riffChunks(file)) if (type === 'EXIF') return data;
    return null;
  }
  for (const { type, data } of jpegSegments(file))
    if (type === APP1 && latin1Text(data, 0, EXIF_NAME.length) === EXIF_NAME) return data;
  return null;
}

/** Appends EXIF data; a simple WebP file is converted to an extended one, which can contain metadata. */
function extendedWebp(
  file: Uint8Array,
  exif: Uint8Array,
  { width, height }: { width: number; height: number },
): Uint8Array {
  const features = concatBytes(
    Uint8Array.of(HAS_EXIF, 0, 0, 0),
    uint24LittleEndian(width - 1),
    uint24LittleEndian(height - 1),
  );
  const isExtended = latin1Text(file, FEATURES_AT - 8, FEATURES_AT - 4) === 'VP8X';
  const head = isExtended ? new Uint8Array(0) : riffChunk('VP8X', features);
  const chunks = concatBytes(head, file.subarray(12), riffChunk('EXIF', exif));
  if (isExtended) chunks[FEATURES_AT - 12]! |= HAS_EXIF;
  return riffChunk('RIFF', concatBytes(latin1Bytes('WEBP'), chunks));
}

const insert = (file: Uint8Array, at: number, part: Uint8Array): Uint8Array =>
  concatBytes(file.subarray(0, at), part, file.subarray(at));

/** Big-endian UTF-16; half of a surrogate pair is kept as it is. */
function utf16Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(2 * text.length);
  const view = viewOf(bytes);
  for (let at = 0; at < text.length; at++) view.setUint16(2 * at, text.charCodeAt(at));
  return bytes;
}

function utf16Text(bytes: Uint8Array): string {
  const view = viewOf(bytes);
  const codes = Array.from({ length: Math.floor(bytes.length / 2) }, (_, at) => view.getUint16(2 * at));
  return codes.map((code) => String.fromCharCode(code)).join('');
}
