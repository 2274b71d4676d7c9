// An MP4 file of one H.264 track, its index before its frames, so that players can begin before they have read it whole.

import { concatBytes, latin1Bytes } from '../image/file-parts.ts';
import { box, fullBox, halves, words, zeros } from './mp4-boxes.ts';
import type { VideoColours } from './colours.ts';

export interface H264Video {
  /** Sides that are shown; those that are stored may be one larger. */
  width: number;
  height: number;
  stored: { width: number; height: number };
  fps: number;
  colours: VideoColours;
  /** The decoder's configuration, as an avcC box contains it. */
  configuration: Uint8Array;
  /** Units of each frame with their lengths before them, in the order in which frames are shown. */
  frames: readonly { bytes: Uint8Array; isKey: boolean }[];
}

/** Ticks in a second: whole numbers of them for each frame at any rate that is a multiple of a thousandth. */
const ticksOf = (fps: number): { timescale: number; length: number } => {
  const timescale = Math.round(fps * 1000);
  return { timescale, length: 1000 };
};

/** The unit matrix, in fixed-point numbers. */
const UPRIGHT = words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/** `text`: how the video was made, as a comment that players show. */
export function writeMp4(video: H264Video, text?: string): Uint8Array {
  const type = box('ftyp', latin1Bytes('isom'), words(0x200), latin1Bytes('isomiso2avc1mp41'));
  const length = (first: number): Uint8Array => movie(video, first, text);
  const index = length(0).length;
  const first = type.length + index + 8;
  return concatBytes(type, length(first), box('mdat', ...video.frames.map(({ bytes }) => bytes)));
}

function movie(video: H264Video, first: number, text: string | undefined): Uint8Array {
  const { timescale, length } = ticksOf(video.fps);
  const duration = video.frames.length * length;
  const header = fullBox(
    'mvhd',
    0,
    words(0, 0, timescale, duration, 0x10000),
    halves(0x100),
    zeros(10),
    UPRIGHT,
    zeros(24),
    words(2),
  );
  const about = text === undefined ? [] : [userData(text)];
  return box('moov', header, track(video, first, { timescale, length, duration }), ...about);
}

interface Ticks {
  timescale: number;
  length: number;
  duration: number;
}

function track(video: H264Video, first: number, ticks: Ticks): Uint8Array {
  const { width, height } = video;
  // Flags: enabled, in the movie.
  const header = fullBox(
    'tkhd',
    3,
    words(0, 0, 1, 0, ticks.duration),
    zeros(16),
    UPRIGHT,
    words(width * 0x10000, height * 0x10000),
  );
  const handler = fullBox('hdlr', 0, words(0), latin1Bytes('vide'), zeros(12), latin1Bytes('video\0'));
  const here = box('dinf', fullBox('dref', 0, words(1), fullBox('url ', 1)));
  const media = box(
    'mdia',
    fullBox('mdhd', 0, words(0, 0, ticks.timescale, ticks.duration), halves(UNDETERMINED, 0)),
    handler,
    box('minf', fullBox('vmhd', 1, zeros(8)), here, table(video, first, ticks.length)),
  );
  return box('trak', header, media);
}

/** The language code "und". */
const UNDETERMINED = 0x55c4;

function table(video: H264Video, first: number, length: number): Uint8Array {
  const { frames } = video;
  const keys = frames.flatMap(({ isKey }, i) => (isKey ? [i + 1] : []));
  return box(
    'stbl',
    fullBox('stsd', 0, words(1), entry(video)),
    fullBox('stts', 0, words(1, frames.length, length)),
    fullBox('stss', 0, words(keys.length, ...keys)),
    fullBox('stsc', 0, words(1, 1, frames.length, 1)),
    fullBox('stsz', 0, words(0, frames.length, ...frames.map(({ bytes }) => bytes.length))),
    fullBox('stco', 0, words(1, first)),
  );
}

function entry({ width, height, stored, colours, configuration }: H264Video): Uint8Array {
  const { primaries, transfer, matrix, isFull } = colours;
  const description = box(
    'colr',
    latin1Bytes('nclx'),
    halves(primaries, transfer, matrix),
    Uint8Array.of(isFull ? 0x80 : 0),
  );
  const isCropped = width !== stored.width || height !== stored.height;
  return box(
    'avc1',
    zeros(6),
    halves(1),
    zeros(16),
    halves(stored.width, stored.height),
    words(0x480000, 0x480000, 0), // 72 pixels an inch
    halves(1),
    zeros(32),
    halves(24, 0xffff), // 24 bits of colour, no table of colours
    box('avcC', configuration),
    description,
    box('pasp', words(1, 1)), // square pixels: without it some players derive others from the sides that are shown
    ...(isCropped ? [aperture({ width, height, stored })] : []),
  );
}

/** The part of the stored frames that is shown, as fractions: its sides, and how far its middle is from that of the frames. */
function aperture({ width, height, stored }: Pick<H264Video, 'width' | 'height' | 'stored'>): Uint8Array {
  return box('clap', words(width, 1, height, 1, width - stored.width, 2, height - stored.height, 2));
}

/** A comment as iTunes stores it, which players and FFmpeg show. */
function userData(text: string): Uint8Array {
  const data = box('data', words(1, 0), new TextEncoder().encode(text));
  const handler = fullBox('hdlr', 0, words(0), latin1Bytes('mdirappl'), zeros(9));
  return box('udta', fullBox('meta', 0, handler, box('ilst', box('\xa9cmt', data))));
}
