// Parts of image files: chunks of PNG and RIFF, numbers and texts in them. Plain arrays of bytes, which Node and pages both have.

import { crc32 } from '../crc32.ts';

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Encodes a text of characters up to U+00FF in ISO 8859-1. */
export const latin1Bytes = (text: string): Uint8Array => Uint8Array.from(text, (one) => one.charCodeAt(0));

/** Decodes ISO 8859-1, where each byte is a code point. */
export function latin1Text(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return Array.from(bytes.subarray(from, to), (byte) => String.fromCharCode(byte)).join('');
}

export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** Big-endian. */
export const uint16 = (value: number): Uint8Array => Uint8Array.of(value >> 8, value);

/** Big-endian. */
export const uint32 = (value: number): Uint8Array =>
  Uint8Array.of(value >> 24, value >> 16, value >> 8, value);

export const uint24LittleEndian = (value: number): Uint8Array =>
  Uint8Array.of(value, value >> 8, value >> 16);

const uint32LittleEndian = (value: number): Uint8Array => uint32(value).reverse();

/** A chunk of a PNG: length, type, data, checksum. */
export function pngChunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = concatBytes(latin1Bytes(type), data);
  return concatBytes(uint32(data.length), body, uint32(crc32(body)));
}

/** A chunk of a RIFF file, filled up to an even length. */
export function riffChunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const padding = new Uint8Array(data.length % 2);
  return concatBytes(latin1Bytes(type), uint32LittleEndian(data.length), data, padding);
}

export const PNG_SIGNATURE = '\x89PNG\r\n\x1a\n';

export const isPng = (file: Uint8Array): boolean =>
  latin1Text(file, 0, PNG_SIGNATURE.length) === PNG_SIGNATURE;
export const isJpeg = (file: Uint8Array): boolean => latin1Text(file, 0, 3) === '\xff\xd8\xff';
export const isWebp = (file: Uint8Array): boolean => /^RIFF[^]{4}WEBP$/.test(latin1Text(file, 0, 12));

/**
 * The beginning of an SVG file: an XML declaration, comments and a document type may precede its root. A comment ends at the first `-->`, so
 * that there is one way to match several, and a text that is not an SVG is refused after one pass.
 */
export const SVG_START = /^\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->)[^])*-->\s*)*(<!DOCTYPE svg[^>]*>\s*)?<svg/;

export interface FilePart {
  type: string;
  data: Uint8Array;
}

/** The chunks of a PNG; ends at the first that is incomplete. */
export function* pngChunks(file: Uint8Array): Generator<FilePart, void> {
  const view = viewOf(file);
  for (let at = 8; at + 12 <= file.length;) {
    const length = view.getUint32(at);
    yield { type: latin1Text(file, at + 4, at + 8), data: file.subarray(at + 8, at + 8 + length) };
    at += 12 + length;
  }
}

/** The chunks of a WebP file. */
export function* riffChunks(file: Uint8Array): Generator<FilePart, void> {
  const view = viewOf(file);
  for (let at = 12; at + 8 <= file.length;) {
    const length = view.getUint32(at + 4, true);
    yield { type: latin1Text(file, at, at + 4), data: file.subarray(at + 8, at + 8 + length) };
    at += 8 + length + (length % 2);
  }
}

/** The segments of a JPEG up to its first scan; `type` is the marker as a character. */
export function* jpegSegments(file: Uint8Array): Generator<FilePart, void> {
  const view = viewOf(file);
  for (let at = 2; at + 4 <= file.length && file[at] === 0xff;) {
    if (file[at + 1] === 0xff) {
      at++; // a fill byte
      continue;
    }
    const end = at + 2 + view.getUint16(at + 2);
    yield { type: String.fromCharCode(file[at + 1]!), data: file.subarray(at + 4, end) };
    at = end;
  }
}
