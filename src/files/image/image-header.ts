// Facts that an image file states before its pixels: format, size, orientation, colours. Read without decoding, so that a file is
// refused before memory is allocated for its pixels.

import {
  type FilePart,
  isJpeg,
  isPng,
  isWebp,
  jpegSegments,
  latin1Text,
  pngChunks,
  riffChunks,
  SVG_START,
  viewOf,
} from './file-parts.ts';
import type { ImageFormat } from './pixels.ts';

export interface ImageHeader {
  format: ImageFormat;
  /** Size of the stored image, before its orientation is applied; 0 × 0 if the file does not state one. */
  width: number;
  height: number;
  /** 1 to 8, as EXIF counts; 1: the stored rows are the image's. */
  orientation: number;
  /** Offset of the byte that holds the orientation; null: none is stated. */
  orientationAt: number | null;
  /** The file contains an ICC profile. */
  hasProfile: boolean;
  /** Channels of a JPEG, 4: CMYK; 3 for other formats. */
  channels: number;
}

/** Formats that other programs write, by their first bytes; they are refused by name. */
const OTHER_FORMATS: readonly (readonly [RegExp, string])[] = [
  [/^GIF8/, 'gif'],
  [/^(II\*\0|MM\0\*)/, 'tiff'],
  [/^[^]{4}ftyp(avif|avis|heic|heix|hevc|mif1|msf1)/, 'heif'],
  [SVG_START, 'svg'],
];

/** Returns the header, or the name of a format that is not read; null for anything else. */
export function readHeader(file: Uint8Array): ImageHeader | string | null {
  if (isPng(file)) return pngHeader(file);
  if (isJpeg(file)) return jpegHeader(file);
  if (isWebp(file)) return webpHeader(file);
  const start = latin1Text(file, 0, 1000);
  return OTHER_FORMATS.find(([pattern]) => pattern.test(start))?.[1] ?? null;
}

function pngHeader(file: Uint8Array): ImageHeader {
  const header: ImageHeader = { ...UNKNOWN, format: 'png' };
  for (const { type, data } of pngChunks(file)) {
    if (type === 'IHDR' && data.length >= 8) {
      header.width = viewOf(data).getUint32(0);
      header.height = viewOf(data).getUint32(4);
    }
    if (type === 'iCCP') header.hasProfile = true;
    if (type === 'eXIf') Object.assign(header, orientationIn(data, file));
  }
  return header;
}

const UNKNOWN = { width: 0, height: 0, orientation: 1, orientationAt: null, hasProfile: false, channels: 3 };

function jpegHeader(file: Uint8Array): ImageHeader {
  const header: ImageHeader = { ...UNKNOWN, format: 'jpeg' };
  for (const { type, data } of jpegSegments(file)) {
    if (isFrame(type) && data.length >= 6) {
      header.height = viewOf(data).getUint16(1);
      header.width = viewOf(data).getUint16(3);
      header.channels = data[5]!;
    }
    if (type === '\xe1' && latin1Text(data, 0, 6) === 'Exif\0\0')
      Object.assign(header, orientationIn(data.subarray(6), file));
    if (type === '\xe2' && latin1Text(data, 0, 12) === 'ICC_PROFILE\0') header.hasProfile = true;
    if (type === '\xda') break;
  }
  return header;
}

/** Start of frame: C0 to CF without the tables DHT, JPG and DAC. */
const isFrame = (type: FilePart['type']): boolean =>
  /^[\xc0-\xcf]$/.test(type) && !/[\xc4\xc8\xcc]/.test(type);

function webpHeader(file: Uint8Array): ImageHeader {
  const header: ImageHeader = { ...UNKNOWN, format: 'webp' };
  for (const { type, data } of riffChunks(file)) {
    if (header.width === 0) Object.assign(header, webpSize(type, data));
    if (type === 'ICCP') header.hasProfile = true;
    if (type === 'EXIF') Object.assign(header, orientationIn(withoutName(data), file));
  }
  return header;
}

/** Size in the first chunk of a WebP file: extended, lossy or lossless. */
function webpSize(type: string, data: Uint8Array): { width: number; height: number } | null {
  const uint24 = (at: number): number => data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16);
  if (data.length < 10) return null;
  if (type === 'VP8X') return { width: uint24(4) + 1, height: uint24(7) + 1 };
  if (type === 'VP8 ') return { width: uint24(6) & 0x3fff, height: (uint24(7) >> 8) & 0x3fff };
  if (type !== 'VP8L') return null;
  const bits = viewOf(data).getUint32(1, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/** Some programs store the name of a JPEG's segment in a WebP file too. */
const withoutName = (exif: Uint8Array): Uint8Array =>
  latin1Text(exif, 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif;

const ORIENTATION = 0x0112;

/** The orientation in the first directory of a TIFF structure, which is a part of `file`; null if there is none of 1 to 8. */
function orientationIn(
  exif: Uint8Array,
  file: Uint8Array,
): Pick<ImageHeader, 'orientation' | 'orientationAt'> | null {
  const order = latin1Text(exif, 0, 4);
  const isLittle = order === 'II*\0';
  if (exif.length < 10 || (!isLittle && order !== 'MM\0*')) return null;
  const view = viewOf(exif);
  const directory = view.getUint32(4, isLittle);
  if (directory + 2 > exif.length) return null;
  const end = Math.min(directory + 2 + 12 * view.getUint16(directory, isLittle), exif.length - 11);
  for (let at = directory + 2; at < end; at += 12) {
    if (view.getUint16(at, isLittle) !== ORIENTATION) continue;
    const orientation = view.getUint16(at + 8, isLittle);
    const orientationAt = exif.byteOffset - file.byteOffset + at + (isLittle ? 8 : 9);
    return orientation >= 1 && orientation <= 8 ? { orientation, orientationAt } : null;
  }
  return null;
}

/**
 * Returns the file with orientation 1. Browsers differ in the formats whose orientation they apply. The checksum of a PNG's chunk is
 * not corrected: decoders skip a chunk of metadata whose checksum is wrong.
 */
export function withoutOrientation(
  file: Uint8Array,
  { orientation, orientationAt }: ImageHeader,
): Uint8Array {
  if (orientation === 1 || orientationAt === null) return file;
  const upright = file.slice();
  upright[orientationAt] = 1;
  return upright;
}
