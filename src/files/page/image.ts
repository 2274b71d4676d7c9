// PNG, JPEG and WebP files in a page or its worker: 8-bit RGB to bytes and back by the browser's codecs.

import { unsupported } from '../error.ts';
import { checkedBmpHeader, decodeBmp, isBmp } from '../image/bmp.ts';
import { embedText } from '../image/image-embed.ts';
import { readHeader, type ImageHeader } from '../image/image-header.ts';
import { parametersText } from '../image/image-metadata.ts';
import {
  type CheckSize,
  decoderReason,
  type EncodeOptions,
  type Frames,
  type ImageFormat,
  MAX_PIXELS,
  type Pixels,
  delaysOf,
  qualityOf,
  TOO_MANY_PIXELS,
  unreadableImage,
} from '../image/pixels.ts';
import { encodePng } from '../image/png-encode.ts';
import {
  flatten,
  greyscale,
  isOpaque,
  orient,
  type Rgba,
  transparency,
  overWhite,
  withoutAlpha,
} from '../image/rgba.ts';
import { decodeRgba } from './image-decoder.ts';

const [BLACK, WHITE] = [0, 255];

/** Encodes an image, including `parameters` if they are given. Throws unsupported where the browser does not write the format. */
export async function encodeImage(image: Frames, options: EncodeOptions): Promise<Uint8Array> {
  const { format, parameters } = options;
  const quality = qualityOf(options);
  if (delaysOf(image, options))
    throw unsupported('browsers write no animations: encode each frame, as frameOf gives it');
  const bytes = format === 'png' ? await encodePng(image) : await encodeOnCanvas(image, format, quality);
  return parameters === undefined ? bytes : embedText(bytes, parametersText(parameters), image);
}

async function encodeOnCanvas(image: Pixels, format: ImageFormat, quality: number): Promise<Uint8Array> {
  const { width, height, data } = image;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null)
    throw unsupported(`the browser has no canvas of ${width} × ${height} pixels: use png`);
  const rgba = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4) {
    rgba[to] = data[from]!;
    rgba[to + 1] = data[from + 1]!;
    rgba[to + 2] = data[from + 2]!;
  }
  context.putImageData(new ImageData(rgba, width, height), 0, 0);
  const blob = await canvas.convertToBlob({ type: `image/${format}`, quality: quality / 100 });
  if (blob.type !== `image/${format}`)
    throw unsupported(`the browser does not write ${format} files: use png`);
  return new Uint8Array(await blob.arrayBuffer());
}

/** Decodes an image; transparent parts become white. `name` is for messages. Throws bad_request, and what `checkSize` throws. */
export async function decodeImage(bytes: Uint8Array, name: string, checkSize?: CheckSize): Promise<Pixels> {
  return decode(bytes, name, (rgba) => flatten(rgba, WHITE), checkSize);
}

/** Decodes an image; transparent parts become white, with Pillow's rounding. */
export async function decodeOverWhite(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, overWhite);
}

/** Decodes an image; transparent pixels keep their colours. */
export async function decodeColours(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, withoutAlpha);
}

/** Decodes a mask to grey RGB; white pixels are redrawn. */
export async function decodeMask(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, greyMask);
}

/** Reads a mask as OpenAI's clients send it: transparent pixels are generated anew, or white ones in a mask without transparency. */
export async function decodeAlphaMask(
  bytes: Uint8Array,
  name: string,
  checkSize?: CheckSize,
): Promise<Pixels> {
  return decode(bytes, name, (rgba) => (isOpaque(rgba) ? greyMask(rgba) : transparency(rgba)), checkSize);
}

const greyMask = (rgba: Rgba): Pixels => greyscale(flatten(rgba, BLACK));

async function decode(
  bytes: Uint8Array,
  name: string,
  toRgb: (rgba: Rgba) => Pixels,
  checkSize?: CheckSize,
): Promise<Pixels> {
  const unreadable = (cause: unknown): never => {
    throw unreadableImage(name, decoderReason(cause).replace(/\.$/, ''), cause);
  };
  // Browsers differ in the alpha of these files and in the rounding of 16 bits.
  if (isBmp(bytes)) {
    const stated = checkedBmpHeader(bytes, name);
    checkSize?.(stated);
    return toRgb(await decodeBmp(bytes, stated).catch(unreadable));
  }
  const header = checkedHeader(bytes, name);
  checkSize?.(header);
  const rgba = await decodeRgba(bytes, header).catch(unreadable);
  return orient(toRgb(rgba), header.orientation);
}

/** Reasons equal those of Node where libvips gives the reason. */
function checkedHeader(bytes: Uint8Array, name: string): ImageHeader {
  if (bytes.length === 0) throw unreadableImage(name, 'Input Buffer is empty');
  const header = readHeader(bytes);
  if (header === null) throw unreadableImage(name, 'Input buffer contains unsupported image format');
  if (typeof header === 'string') throw unreadableImage(name, `${header} is not read`);
  if (header.width * header.height > MAX_PIXELS) throw unreadableImage(name, TOO_MANY_PIXELS);
  if (header.channels === 4) throw unreadableImage(name, 'pages do not convert the CMYK colours of a JPEG');
  return header;
}
