// PNG, JPEG and WebP files in Node: 8-bit RGB to bytes and back by libvips, through sharp, which is loaded when first needed. BMP files are read, too.

import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { checkedBmpHeader, decodeBmp, isBmp } from './bmp.ts';
import { convertInBands, pickChannels, rgbPixels } from './bands.ts';
import { embedText } from './image-embed.ts';
import { parametersText } from './image-metadata.ts';
import {
  type CheckSize,
  decoderReason,
  delaysOf,
  type EncodeOptions,
  type Frames,
  IMAGE_FORMATS,
  type ImageFormat,
  MAX_PIXELS,
  type Pixels,
  qualityOf,
  TOO_MANY_PIXELS,
  unreadableImage,
} from './pixels.ts';

/** Encodes an image, or a clip as an animated WebP, including `parameters` if they are given. */
export async function encodeImage(image: Frames, options: EncodeOptions): Promise<Uint8Array> {
  const { format, parameters } = options;
  const quality = qualityOf(options);
  const delay = delaysOf(image, options);
  const pipeline = await openRaw(image);
  const encoded = delay ? pipeline.webp({ quality, delay, loop: 0 }) : encoders[format](pipeline, quality);
  const bytes = await encoded.toBuffer();
  return parameters === undefined ? bytes : embedText(bytes, parametersText(parameters), image);
}

const encoders: Record<ImageFormat, (pipeline: Sharp, quality: number) => Sharp> = {
  png: (pipeline) => pipeline.png(),
  jpeg: (pipeline, quality) => pipeline.jpeg({ quality }),
  webp: (pipeline, quality) => pipeline.webp({ quality }),
};

/** Decodes an image; transparent parts become white. `name` is for messages. Throws bad_request, and what `checkSize` throws. */
export async function decodeImage(bytes: Uint8Array, name: string, checkSize?: CheckSize): Promise<Pixels> {
  return decode(bytes, name, (pipeline) => pipeline.flatten({ background: '#ffffff' }), checkSize);
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
  return decode(bytes, name, maskPipeline, checkSize);
}

async function maskPipeline(pipeline: Sharp): Promise<Sharp> {
  const { isOpaque } = await pipeline.clone().stats();
  if (isOpaque) return greyMask(pipeline);
  // Extract one channel first: the pipeline drops the alpha channel before it extracts one.
  const { data, info } = await pipeline
    .extractChannel('alpha')
    .negate()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  return openSharp(data, { raw: { width: info.width, height: info.height, channels: 1 } });
}

const greyMask = (pipeline: Sharp): Sharp => pipeline.flatten({ background: '#000000' }).greyscale();

async function decode(
  bytes: Uint8Array,
  name: string,
  change: (pipeline: Sharp) => Sharp | Promise<Sharp>,
  checkSize?: CheckSize,
): Promise<Pixels> {
  const unreadable = unreadableBy(name);
  if (isBmp(bytes)) return decodeBmpFile(bytes, name, change, checkSize);
  const options: SharpOptions = { limitInputPixels: MAX_PIXELS, failOn: 'error' };
  const pipeline = await openSharp(bytes, options).catch(unreadable);
  const metadata = await pipeline.metadata().catch(unreadable);
  assertReadable(metadata, name);
  checkSize?.(metadata);
  return Promise.resolve(pipeline.autoOrient()).then(change).then(toRgb).catch(unreadable);
}

function unreadableBy(name: string): (cause: unknown) => never {
  return (cause) => {
    const reason = decoderReason(cause);
    throw unreadableImage(name, /pixel limit/.test(reason) ? TOO_MANY_PIXELS : reason, cause);
  };
}

/** libvips does not read the format: it gets the pixels. */
async function decodeBmpFile(
  bytes: Uint8Array,
  name: string,
  change: (pipeline: Sharp) => Sharp | Promise<Sharp>,
  checkSize?: CheckSize,
): Promise<Pixels> {
  const header = checkedBmpHeader(bytes, name);
  checkSize?.(header);
  const unreadable = unreadableBy(name);
  const { width, height, data } = await decodeBmp(bytes, header).catch(unreadable);
  const pipeline = await openSharp(data, {
    raw: { width, height, channels: 4 },
    limitInputPixels: MAX_PIXELS,
  });
  return Promise.resolve(pipeline).then(change).then(toRgb).catch(unreadable);
}

function assertReadable({ format }: Metadata, name: string): void {
  if (!IMAGE_FORMATS.some((known) => known === format)) throw unreadableImage(name, `${format} is not read`);
}

async function toRgb(pipeline: Sharp): Promise<Pixels> {
  const { data, info } = await pipeline
    .toColourspace('srgb')
    .removeAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const values = { width, height, data: new Uint8Array(data.buffer, data.byteOffset, data.length) };
  if (channels === 3) return rgbPixels(values);
  // A grey image may come back with one channel.
  const colours = channels < 3 ? [0, 0, 0] : [0, 1, 2];
  return convertInBands(values, (band) => pickChannels(band, colours));
}

function openRaw({ width, height, frames = 1, data }: Frames): Promise<Sharp> {
  const paged = frames > 1 && { pageHeight: height };
  return openSharp(data, { raw: { width, height: frames * height, channels: 3, ...paged } });
}

async function openSharp(input: Uint8Array, options: SharpOptions): Promise<Sharp> {
  const { default: sharp } = await import('sharp');
  return sharp(input, options);
}
