// The format of a medium by its first bytes. The type that a server or a client states is not used.

import { BMP_START } from '../image/bmp.ts';
import { latin1Text, SVG_START } from '../image/file-parts.ts';
import { badRequest, type EngineError } from '../error.ts';
import type { MediaKind } from './decoded.ts';
import { fileText, MEDIA_NOUNS } from './media-nouns.ts';

export interface MediaFormat {
  /** Its name in messages. */
  name: string;
  kinds: readonly MediaKind[];
}

/** Name of the format that libvips does not read. */
export const BMP = 'BMP';

const IMAGE: readonly MediaKind[] = ['image'];
const MOVING: readonly MediaKind[] = ['image', 'video'];
const CONTAINER: readonly MediaKind[] = ['video', 'audio'];
const AUDIO: readonly MediaKind[] = ['audio'];

/** Third bytes of a frame of MP3: 14 bit rates by three sample rates, and two more bits. */
const MP3_RATES = Array.from('123456789abcde', (rate) => `\\x${rate}0-\\x${rate}b`).join('');

const FORMATS: readonly (readonly [RegExp, string, readonly MediaKind[]])[] = [
  [/^\x89PNG\r\n[^]\n/, 'PNG', IMAGE],
  [/^\xff\xd8\xff/, 'JPEG', IMAGE],
  [/^RIFF[^]{4}WEBP/, 'WebP', MOVING],
  [/^GIF8[79]a/, 'GIF', MOVING],
  [/^(II\*\0|MM\0\*)/, 'TIFF', IMAGE],
  [BMP_START, BMP, IMAGE],
  [/^[^]{4}ftyp(avif|avis)/, 'AVIF', IMAGE],
  [/^[^]{4}ftypM4[AB] /, 'MPEG-4 audio', AUDIO],
  [/^[^]{4}ftyp(qt {2}|isom|iso\d|mp4\d|avc1|M4V |M4VP|MSNV|dash|f4v |3g[p2]|mmp4)/, 'MP4', CONTAINER],
  [/^[^]{4}(moov|mdat|wide)/, 'QuickTime', CONTAINER],
  [/^[^]E\xdf\xa3/, 'WebM', CONTAINER],
  [/^OggS[^]{24}\x80theora/, 'Ogg', CONTAINER],
  [/^OggS/, 'Ogg', AUDIO],
  [/^G[^]{187}G[^]{187}G/, 'MPEG-TS', CONTAINER],
  [/^RIFF[^]{4}WAVE|^RF64[^]{4}WAVE/, 'WAV', AUDIO],
  [/^fLaC/, 'FLAC', AUDIO],
  [/^ID3/, 'MP3', AUDIO],
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'AAC', AUDIO],
  // Layer III of MPEG 1, 2 and 2.5.
  [new RegExp(`^\\xff[\\xe2\\xe3\\xf2\\xf3\\xfa\\xfb][${MP3_RATES}]`), 'MP3', AUDIO],
];

/** Formats that are recognised to be refused by name. */
const UNREAD: readonly (readonly [RegExp, string])[] = [
  [SVG_START, 'SVG'],
  [/^[^]{4}ftyp(heic|heix|hevc|mif1|msf1)/, 'HEIC'],
  [/^\xff\n|^\0{3}[^]JXL /, 'JPEG XL'],
  [/^%PDF-/, 'PDF'],
  [/^RIFF[^]{4}AVI /, 'AVI'],
  [/^\x30\x26\xb2\x75/, 'Windows Media'],
  [/^FORM[^]{4}AIF[FC]/, 'AIFF'],
  [/^caff/, 'CAF'],
  [/^#!AMR/, 'AMR'],
  [/^FLV[^]/, 'Flash video'],
  [/^\0\0[^][\xb3\xba]/, 'MPEG'],
  [/^\s*(<!DOCTYPE html|<html|<head|<\?xml)/i, 'HTML or XML'],
  [/^\s*[[{]["\s{[]/, 'JSON'],
];

/** What is read of each kind. */
export const READ_FORMATS: Readonly<Record<MediaKind, string>> = {
  image: 'PNG, JPEG, WebP, GIF, TIFF, BMP or AVIF',
  video: 'GIF, animated WebP, MP4, WebM, QuickTime or MPEG-TS',
  audio: 'WAV, MP3, FLAC, Ogg, Opus, AAC, M4A or WebM',
};

export function mediaFormat(bytes: Uint8Array): MediaFormat | null {
  const format = formatAt(bytes, 0);
  const tag = tagLength(bytes);
  if (tag === 0) return format;
  const tagged = formatAt(bytes, tag);
  return tagged && TAGGED.includes(tagged.name) ? tagged : format;
}

function formatAt(bytes: Uint8Array, at: number): MediaFormat | null {
  const start = latin1Text(bytes, at, at + 1000);
  const found = FORMATS.find(([pattern]) => pattern.test(start));
  return found ? { name: found[1], kinds: found[2] } : null;
}

/** Formats around which programs put tags of MP3 files. */
export const TAGGED: readonly string[] = ['FLAC', 'AAC'];

/** Flag of a tag that ends with a copy of its header. */
const FOOTER = 0x10;

/** Bytes of the older tag, which a file ends with. */
const LAST_TAG = 128;

/** The bytes of a sound between the tags of MP3 files. */
export function withoutTags(bytes: Uint8Array): Uint8Array {
  const end = bytes.length - LAST_TAG;
  const hasLast = end > 0 && latin1Text(bytes, end, end + 3) === 'TAG';
  return bytes.subarray(tagLength(bytes), hasLast ? end : bytes.length);
}

/** Bytes of the ID3 tag that a file begins with, or 0. They are a header of ten bytes and what follows it, whose size has 7 bits a byte. */
function tagLength(bytes: Uint8Array): number {
  if (bytes.length < 10 || latin1Text(bytes, 0, 3) !== 'ID3') return 0;
  const size = bytes.subarray(6, 10).reduce((sum, byte) => sum * 2 ** 7 + (byte & 0x7f), 0);
  return 10 + size + (bytes[5]! & FOOTER ? 10 : 0);
}

/** The kind of a file by its first bytes: animations are images, containers are videos. null: nothing that is read. */
export function mediaKind(bytes: Uint8Array): MediaKind | null {
  return mediaFormat(bytes)?.kinds[0] ?? null;
}

/** Returns the format of a medium of this kind. Throws bad_request for bytes that are nothing of the kind. */
export function formatOf(bytes: Uint8Array, kind: MediaKind, name: string): string {
  const format = mediaFormat(bytes);
  if (format?.kinds.includes(kind)) return format.name;
  const { one } = MEDIA_NOUNS[kind];
  const refuse = (text: string): EngineError => badRequest(`${name} ${text}`, name);
  if (bytes.length === 0) throw refuse(`is empty; give ${one} as ${READ_FORMATS[kind]}`);
  if (!format) {
    const start = latin1Text(bytes, 0, 1000);
    const unread = UNREAD.find(([pattern]) => pattern.test(start))?.[1];
    throw refuse(`cannot be read as ${one} (${unread ?? 'no known format'}); give ${READ_FORMATS[kind]}`);
  }
  const [own = kind] = format.kinds;
  throw refuse(
    `is ${fileText(format.name)}, ${MEDIA_NOUNS[own].one} and not ${one}; give ${READ_FORMATS[kind]}`,
  );
}
