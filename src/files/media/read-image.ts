// An image as PIL decodes it, which the processors of vision models are made with: EXIF orientation applied, ICC profiles ignored, CMYK
// converted by the plain formula. Equal to PIL 13 to the last bit for JPEG, PNG, WebP, GIF, TIFF and BMP, but for 16-bit grey, which PIL cuts off at
// 255 and which here keeps its high byte. An animation gives its first image.

import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { channelsOf, convertInBands, pickChannels, type Raster, rgbPixels } from '../image/bands.ts';
import type { Pixels } from '../image/pixels.ts';
import { overWhite } from '../image/rgba.ts';
import { bmpHeader, decodeBmp } from '../image/bmp.ts';
import { BMP, formatOf } from './format.ts';
import { MEDIA_NOUNS } from './media-nouns.ts';
import type { AlphaRule, MediaBounds } from './media.ts';
import { checkBound, undecodable } from './media-error.ts';

export interface ImageReading {
  bounds: Pick<MediaBounds, 'maxImagePixels' | 'mediaDecodeTimeout'>;
  /** Default: dropped. */
  alpha?: AlphaRule;
  signal?: AbortSignal;
}

/** Decodes an image. `name` is the parameter that holds it, for messages. Throws bad_request, and the signal's reason. */
export async function readImage(bytes: Uint8Array, name: string, reading: ImageReading): Promise<Pixels> {
  const format = formatOf(bytes, 'image', name);
  try {
    if (format === BMP) return await readBmp(bytes, name, reading);
    const pipeline = await openSharp(bytes);
    const metadata = await pipeline.metadata();
    checkPixels(metadata, name, reading.bounds);
    reading.signal?.throwIfAborted();
    const limited = pipeline.autoOrient().timeout(decodingSeconds(reading.bounds));
    return await toRgb(limited, metadata, reading);
  } catch (cause) {
    if (reading.signal?.aborted) throw cause;
    throw undecodable(name, MEDIA_NOUNS.image.one, cause);
  }
}

async function readBmp(
  bytes: Uint8Array,
  name: string,
  { bounds, alpha, signal }: ImageReading,
): Promise<Pixels> {
  const header = bmpHeader(bytes);
  checkPixels(header, name, bounds);
  signal?.throwIfAborted();
  const rgba = await decodeBmp(bytes, header, signal);
  return convertInBands(rgba, (band) => rgbOfColours(band, alpha), signal);
}

/** The longest time that libvips may take for what it decodes at once, which no signal interrupts; 0: unlimited. */
export function decodingSeconds({ mediaDecodeTimeout: most = 0 }: Pick<MediaBounds, 'mediaDecodeTimeout'>): {
  seconds: number;
} {
  return { seconds: Math.min(Math.ceil(most / 1000), MOST_SECONDS) };
}

/** The longest time that sharp takes. */
const MOST_SECONDS = 3600;

function checkPixels(
  { width, height }: Pick<Metadata, 'width' | 'height'>,
  name: string,
  bounds: ImageReading['bounds'],
): void {
  checkBound(name, bounds, 'maxImagePixels', width * height, `is an image of ${width} × ${height} pixels`);
}

/** Bounds of pixels are checked before, by what the header states. */
export async function openSharp(bytes: Uint8Array, options: SharpOptions = {}): Promise<Sharp> {
  const { default: sharp } = await import('sharp');
  return sharp(bytes, { limitInputPixels: false, failOn: 'error', ignoreIcc: true, ...options });
}

async function toRgb(pipeline: Sharp, { space }: Metadata, reading: ImageReading): Promise<Pixels> {
  if (space !== 'cmyk') return readRgb(pipeline, reading);
  const inks = pipeline.pipelineColourspace('cmyk').toColourspace('cmyk');
  return convertInBands(await rawValues(inks), (band) => rgbOfCmyk(band, reading.alpha), reading.signal);
}

/** Computes the pipeline; of several frames, the rows of all follow each other. */
export async function readRgb(
  pipeline: Sharp,
  { alpha, signal }: Pick<ImageReading, 'alpha' | 'signal'>,
): Promise<Pixels> {
  const coloured = (alpha === 'white' ? pipeline : pipeline.removeAlpha()).toColourspace('srgb');
  const values = await rawValues(coloured);
  if (channelsOf(values) === 3) return rgbPixels(values);
  return convertInBands(values, (band) => rgbOfColours(band, alpha), signal);
}

async function rawValues(pipeline: Sharp): Promise<Raster> {
  const { data, info } = await pipeline.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  return {
    width: info.width,
    height: info.height,
    data: new Uint8Array(data.buffer, data.byteOffset, data.length),
  };
}

/** A grey image may come back with one channel. Behind the colours there may be alpha, and behind alpha bands without a meaning. */
function rgbOfColours(band: Raster, alpha: AlphaRule = 'dropped'): Uint8Array {
  const channels = channelsOf(band);
  const colours = channels < 3 ? [0, 0, 0] : [0, 1, 2];
  const at = channels < 3 ? 1 : 3;
  if (alpha === 'dropped' || channels <= at) return pickChannels(band, colours);
  return overWhite({ ...band, data: pickChannels(band, [...colours, at]) }).data;
}

/** CMYK, and behind it maybe alpha → RGB by the product of ink and key, rounded as PIL rounds. */
function rgbOfCmyk(band: Raster, alpha: AlphaRule = 'dropped'): Uint8Array {
  const { data } = band;
  const channels = channelsOf(band);
  const hasAlpha = alpha === 'white' && channels > 4;
  const values = new Uint8Array(band.width * band.height * (hasAlpha ? 4 : 3));
  for (let from = 0, to = 0; from < data.length; from += channels) {
    const light = 255 - data[from + 3]!;
    for (let ink = 0; ink < 3; ink++) {
      const product = data[from + ink]! * light + 128;
      values[to++] = light - ((product + (product >> 8)) >> 8);
    }
    if (hasAlpha) values[to++] = data[from + 4]!;
  }
  return hasAlpha ? overWhite({ ...band, data: values }).data : values;
}
