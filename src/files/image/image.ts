// Images as bytes of PNG, JPEG and WebP, and back to 8-bit RGB; the codecs are libvips', through sharp, loaded when first needed.

import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { EngineError } from '../error.ts';
import { embedText } from './image-embed.ts';
import { parametersText, type ImageParameters } from './image-metadata.ts';

/** 8-bit sRGB, row by row from the top. */
export interface Pixels {
  width: number;
  height: number;
  /** width · height · 3 bytes, RGB. */
  data: Uint8Array;
}

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

export interface EncodeOptions {
  format: ImageFormat;
  /** 1 to 100, for JPEG and WebP. */
  quality?: number;
  /** How the image was made: an iTXt chunk in a PNG, the EXIF user comment in others. */
  parameters?: ImageParameters;
}

const DEFAULT_QUALITY = 75;
/** Maximum number of pixels of an image that is read: 8192 × 8192. */
const MAX_PIXELS = 8192 * 8192;

/** Returns the format for a file name's extension; null for another extension. */
export function imageFormatOf(name: string): ImageFormat | null {
  const ending = /\.([^.\\/]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = ending === 'jpg' ? 'jpeg' : ending;
  return IMAGE_FORMATS.find((known) => known === format) ?? null;
}

/** Encodes an image, including `parameters` if they are given. */
export async function encodeImage(image: Pixels, options: EncodeOptions): Promise<Uint8Array> {
  const { format, quality = DEFAULT_QUALITY, parameters } = options;
  const pipeline = await openRaw(image);
  const bytes = await encoders[format](pipeline, quality).toBuffer();
  return parameters === undefined ? bytes : embedText(bytes, parametersText(parameters), image);
}

const encoders: Record<ImageFormat, (pipeline: Sharp, quality: number) => Sharp> = {
  png: (pipeline) => pipeline.png(),
  jpeg: (pipeline, quality) => pipeline.jpeg({ quality }),
  webp: (pipeline, quality) => pipeline.webp({ quality }),
};

/** Decodes an image; transparent parts become white. `name` is for messages. */
export async function decodeImage(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, (pipeline) => pipeline.flatten({ background: '#ffffff' }));
}

/** Decodes a mask to grey RGB; white pixels are redrawn. */
export async function decodeMask(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, greyMask);
}

/** Reads a mask as OpenAI's clients send it: transparent pixels are generated anew, or white ones in a mask without transparency. */
export async function decodeAlphaMask(bytes: Uint8Array, name: string): Promise<Pixels> {
  return decode(bytes, name, async (pipeline) => {
    const { isOpaque } = await pipeline.clone().stats();
    if (isOpaque) return greyMask(pipeline);
    // Extract one channel first: the pipeline drops the alpha channel before it extracts one.
    const { data, info } = await pipeline
      .extractChannel('alpha')
      .negate()
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return openSharp(data, { raw: { width: info.width, height: info.height, channels: 1 } });
  });
}

const greyMask = (pipeline: Sharp): Sharp => pipeline.flatten({ background: '#000000' }).greyscale();

/** Scales an image to cover width × height with its proportions kept, and crops the rest. */
export async function coverImage(image: Pixels, width: number, height: number): Promise<Pixels> {
  if (image.width === width && image.height === height) return image;
  return toRgb((await openRaw(image)).resize(width, height, { fit: 'cover', kernel: 'lanczos3' }));
}

async function decode(
  bytes: Uint8Array,
  name: string,
  change: (pipeline: Sharp) => Sharp | Promise<Sharp>,
): Promise<Pixels> {
  try {
    const pipeline = await openSharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' });
    assertReadable(await pipeline.metadata(), name);
    return await toRgb(await change(pipeline.autoOrient()));
  } catch (cause) {
    if (cause instanceof EngineError) throw cause;
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw unreadable(
      name,
      /pixel limit/.test(String(reason)) ? 'more than 8192 × 8192 pixels' : reason,
      cause,
    );
  }
}

function assertReadable({ format }: Metadata, name: string): void {
  if (!IMAGE_FORMATS.some((known) => known === format)) throw unreadable(name, `${format} is not read`);
}

function unreadable(name: string, reason: string | undefined, cause?: unknown): EngineError {
  return new EngineError(
    'bad_request',
    `${name} cannot be read as an image (${reason}): give a PNG, JPEG or WebP file`,
    { param: name, cause },
  );
}

async function toRgb(pipeline: Sharp): Promise<Pixels> {
  const { data, info } = await pipeline
    .toColourspace('srgb')
    .removeAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  // A grey image may come back with one channel.
  const rgb =
    info.channels === 3
      ? data
      : Uint8Array.from({ length: 3 * data.length }, (_, at) => data[Math.floor(at / 3)] ?? 0);
  return { width: info.width, height: info.height, data: new Uint8Array(rgb) };
}

function openRaw({ width, height, data }: Pixels): Promise<Sharp> {
  return openSharp(data, { raw: { width, height, channels: 3 } });
}

async function openSharp(input: Uint8Array, options: SharpOptions): Promise<Sharp> {
  const { default: sharp } = await import('sharp');
  return sharp(input, options);
}
