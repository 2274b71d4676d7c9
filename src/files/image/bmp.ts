// BMP files as Pillow decodes them: 1, 4, 8, 16, 24 and 32 bits, palettes, masks and run lengths, rows from the bottom or from the top. libvips
// as sharp has it reads none. 32 bits without masks have no alpha, whatever their fourth byte says.

import { BAND_PIXELS } from './bands.ts';
import { colourRows, indexRows, lowest } from './bmp-rows.ts';
import { decodeRuns, RUN_BITS } from './bmp-runs.ts';
import { latin1Text, viewOf } from './file-parts.ts';
import { decoderReason, MAX_PIXELS, TOO_MANY_PIXELS, unreadableImage } from './pixels.ts';
import type { Rgba } from './rgba.ts';

export interface BmpHeader {
  width: number;
  height: number;
  bits: number;
  compression: number;
  /** The first stored row is the top one. */
  isTopDown: boolean;
  /** Offset of the pixels. */
  start: number;
  /** RGB of the palette's entries, which a pixel of 1, 4 or 8 bits counts. */
  palette: Uint8Array;
  /** Bits of red, green, blue and alpha in a pixel of 16 or 32 bits. */
  masks: readonly number[];
}

const [RAW, FIELDS, ALPHA_FIELDS] = [0, 3, 6];
const OTHER_COMPRESSIONS: Readonly<Record<number, string>> = { 4: 'JPEG', 5: 'PNG' };

/** Sizes of the headers: of OS/2, of Windows, and those of Windows with masks, of OS/2's second version, and of colour spaces. */
const HEADERS = [12, 40, 52, 56, 64, 108, 124];
const [OLD_HEADER, MASKED_HEADER, ALPHA_HEADER, LONG_OLD_HEADER] = [12, 52, 56, 64];
/** Offset of the header behind the file's own. */
const HEADER_AT = 14;

const MASKS: Readonly<Record<number, readonly number[]>> = {
  16: [0x7c00, 0x3e0, 0x1f, 0],
  24: [0xff0000, 0xff00, 0xff, 0],
  32: [0xff0000, 0xff00, 0xff, 0],
};
/** Masks that are all zero: Windows' programs write them with alpha. */
const DEFAULT_FIELDS = [0xff0000, 0xff00, 0xff, 0xff000000];

/** By the file's first bytes and the size of its header: two letters alone begin many texts. */
export const BMP_START = /^BM[^]{12}[\f\x28\x34\x38\x40\x6c\x7c]\0\0\0/;

export const isBmp = (file: Uint8Array): boolean => BMP_START.test(latin1Text(file, 0, 18));

/** Reads what the file states before its pixels. Throws an Error that says what is not read, or wrong. */
export function bmpHeader(file: Uint8Array): BmpHeader {
  const view = viewOf(file);
  const size = file.length < HEADER_AT + 4 ? 0 : view.getUint32(HEADER_AT, true);
  if (!HEADERS.includes(size)) throw new Error(`a BMP with a header of ${size} bytes is not read`);
  if (file.length < HEADER_AT + size) throw new Error('the BMP ends within its header');
  const isOld = size === OLD_HEADER;
  const stated = isOld ? view.getUint16(20, true) : view.getInt32(22, true);
  const width = isOld ? view.getUint16(18, true) : view.getInt32(18, true);
  const height = Math.abs(stated);
  const bits = view.getUint16(isOld ? 24 : 28, true);
  const compression = isOld ? RAW : view.getUint32(30, true);
  if (width <= 0 || height === 0) throw new Error(`the BMP states ${width} × ${stated} pixels`);
  checkCoding(bits, compression, size);
  const header = { width, height, bits, compression, isTopDown: stated < 0, start: view.getUint32(10, true) };
  return {
    ...header,
    ...paletteOf(file, bits, size, header.start),
    masks: masksOf(file, bits, compression, size),
  };
}

/** The header, for an image to start from. `name` is for messages. Throws bad_request. */
export function checkedBmpHeader(file: Uint8Array, name: string): BmpHeader {
  let header: BmpHeader;
  try {
    header = bmpHeader(file);
  } catch (cause) {
    throw unreadableImage(name, decoderReason(cause), cause);
  }
  if (header.width * header.height > MAX_PIXELS) throw unreadableImage(name, TOO_MANY_PIXELS);
  return header;
}

function checkCoding(bits: number, compression: number, size: number): void {
  if (![1, 4, 8, 16, 24, 32].includes(bits)) throw new Error(`a BMP of ${bits} bits a pixel is not read`);
  const isFields = compression === FIELDS || compression === ALPHA_FIELDS;
  const fits =
    compression === RAW ||
    RUN_BITS.get(compression) === bits ||
    (isFields && bits >= 16 && size !== LONG_OLD_HEADER);
  if (fits) return;
  const name = OTHER_COMPRESSIONS[compression] ?? `the compression ${compression}`;
  throw new Error(`a BMP of ${bits} bits a pixel with ${name} is not read`);
}

function paletteOf(
  file: Uint8Array,
  bits: number,
  size: number,
  start: number,
): { palette: Uint8Array; start: number } {
  if (bits > 8) return { palette: new Uint8Array(), start };
  const entry = size === OLD_HEADER ? 3 : 4;
  const stated = size === OLD_HEADER ? 0 : viewOf(file).getUint32(46, true);
  const colours = stated === 0 ? 2 ** bits : stated;
  if (colours > 2 ** 16) throw new Error(`the BMP states a palette of ${colours} colours`);
  const at = HEADER_AT + size;
  // Some programs write the offset of the palette for that of the pixels.
  const first = start === at ? at + entry * colours : start;
  const read = Math.min(colours, 2 ** bits);
  if (file.length < at + entry * read) throw new Error('the BMP ends within its palette');
  // A pixel beyond the palette is black.
  const palette = new Uint8Array(3 * 2 ** bits);
  for (let i = 0; i < read; i++)
    for (let channel = 0; channel < 3; channel++)
      palette[3 * i + channel] = file[at + entry * i + 2 - channel]!;
  return { palette, start: first };
}

function masksOf(file: Uint8Array, bits: number, compression: number, size: number): readonly number[] {
  const usual = MASKS[bits] ?? [];
  if (compression !== FIELDS && compression !== ALPHA_FIELDS) return usual;
  const hasAlpha = size >= ALPHA_HEADER || compression === ALPHA_FIELDS;
  // The masks of the shortest header stand behind it, where the longer ones have them.
  const at = HEADER_AT + 40;
  const count = hasAlpha ? 4 : 3;
  if (file.length < at + 4 * count) throw new Error('the BMP ends within its masks');
  const masks = [0, 1, 2, 3].map((i) => (i < count ? viewOf(file).getUint32(at + 4 * i, true) : 0));
  if (masks.every((mask) => mask === 0) && size >= MASKED_HEADER && bits === 32) return DEFAULT_FIELDS;
  if (masks.slice(0, 3).some((mask) => mask === 0) || masks.some((mask) => !isField(mask, bits)))
    throw new Error(
      `a BMP with masks ${masks.map((mask) => `0x${mask.toString(16)}`).join(', ')} is not read`,
    );
  return masks;
}

/** Whether the ones of a mask stand together, within a pixel. */
function isField(mask: number, bits: number): boolean {
  if (mask === 0) return true;
  const field = mask / lowest(mask);
  return mask < 2 ** bits && (field & (field + 1)) === 0;
}

/** Decodes the pixels, while other work of the thread runs. Throws an Error where the file ends before them, and the signal's reason. */
export async function decodeBmp(file: Uint8Array, header: BmpHeader, signal?: AbortSignal): Promise<Rgba> {
  const { width, height, bits, compression, isTopDown, start } = header;
  const runs = RUN_BITS.has(compression) ? decodeRuns(file.subarray(start), header) : null;
  const stride = runs ? width : Math.ceil((width * bits) / 32) * 4;
  const stored = runs ?? file.subarray(start);
  // Some programs leave out what fills the last row up.
  if (!runs && stored.length < stride * (height - 1) + Math.ceil((width * bits) / 8))
    throw new Error('the BMP ends before its last pixel');
  const data = new Uint8Array(4 * width * height);
  const decodeRow = bits <= 8 ? indexRows(header, runs ? 8 : bits) : colourRows(header);
  const rowsAtOnce = Math.ceil(BAND_PIXELS / width);
  for (let row = 0; row < height; row++) {
    if (row > 0 && row % rowsAtOnce === 0) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    const to = 4 * width * (isTopDown ? row : height - 1 - row);
    decodeRow(stored.subarray(stride * row, stride * (row + 1)), data.subarray(to, to + 4 * width));
  }
  return { width, height, data };
}
