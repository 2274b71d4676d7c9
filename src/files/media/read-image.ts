// An image as PIL decodes it, which the processors of vision models are made with: EXIF orientation applied, ICC profiles ignored, CMYK
// converted by the plain formula. Equal to PIL 13 to the last bit for JPEG, PNG, WebP, GIF and TIFF, but for 16-bit grey, which PIL cuts off at
// 255 and which here keeps its high byte. An animation gives its first image.

import type { Metadata, Sharp, SharpOptions } from 'sharp';
import type { Pixels } from '../image/pixels.ts';
import { overWhite } from '../image/rgba.ts';
import { formatOf } from './format.ts';
import { MEDIA_NOUNS } from '../media-nouns.ts';
import type { AlphaRule, MediaBounds } from './media.ts';
import { beyond, undecodable } from './media-error.ts';

export interface ImageReading {
  bounds: Pick<MediaBounds, 'maxImagePixels' | 'mediaDecodeTimeout'>;
  /** Default: dropped. */
  alpha?: AlphaRule;
  signal?: AbortSignal;
}

/** Decodes an image. `name` is the parameter that holds it, for messages. Throws bad_request, and the signal's reason. */
export async function readImage(bytes: Uint8Array, name: string, reading: ImageReading): Promise<Pixels> {
  formatOf(bytes, 'image', name);
  try {
    const pipeline = await openSharp(bytes);
    const metadata = await pipeline.metadata();
    checkPixels(metadata, name, reading.bounds);
    reading.signal?.throwIfAborted();
    const limited = pipeline.autoOrient().timeout(decodingSeconds(reading.bounds));
    return await toRgb(limited, metadata, reading.alpha ?? 'dropped');
  } catch (cause) {
    if (reading.signal?.aborted) throw cause;
    throw undecodable(name, MEDIA_NOUNS.image.one, cause);
  }
}

/** The longest time that libvips may take for what it decodes at once, which no signal interrupts; 0: unlimited. */
export function decodingSeconds({ mediaDecodeTimeout: most = 0 }: Pick<MediaBounds, 'mediaDecodeTimeout'>): {
  seconds: number;
} {
  return { seconds: Math.min(Math.ceil(most / 1000), MOST_SECONDS) };
}

/** The longest time that sharp takes. */
const MOST_SECONDS = 3600;

function checkPixels({ width, height }: Metadata, name: string, bounds: ImageReading['bounds']): void {
  const { maxImagePixels: most } = bounds;
  if (width * height > most)
    throw beyond(name, `is an image of ${width} × ${height} pixels`, 'maxImagePixels', most);
}

/** Bounds of pixels are checked before, by what the header states. */
export async function openSharp(bytes: Uint8Array, options: SharpOptions = {}): Promise<Sharp> {
  const { default: sharp } = await import('sharp');
  return sharp(bytes, { limitInputPixels: false, failOn: 'error', ignoreIcc: true, ...options });
}

async function toRgb(pipeline: Sharp, { space }: Metadata, alpha: AlphaRule): Promise<Pixels> {
  const isCmyk = space === 'cmyk';
  if (!isCmyk) return readRgb(pipeline, alpha);
  const inks = pipeline.pipelineColourspace('cmyk').toColourspace('cmyk').raw({ depth: 'uchar' });
  const { data, info } = await inks.toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data: cmykToRgb(data) };
}

/** Computes the pipeline; of several frames, the rows of all follow each other. */
export async function readRgb(pipeline: Sharp, alpha: AlphaRule): Promise<Pixels> {
  const coloured = (alpha === 'white' ? pipeline : pipeline.removeAlpha()).toColourspace('srgb');
  const { data, info } = await coloured.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const hasAlpha = channels === 2 || channels === 4;
  const values = channels < 3 ? threeColours(data, channels) : new Uint8Array(data);
  return hasAlpha ? overWhite({ width, height, data: values }) : { width, height, data: values };
}

/** A grey image may come back with one channel, and alpha behind it. */
function threeColours(data: Uint8Array, channels: number): Uint8Array {
  const made = new Uint8Array((data.length / channels) * (channels + 2));
  for (let from = 0, to = 0; from < data.length; from += channels, to += channels + 2) {
    made.fill(data[from]!, to, to + 3);
    if (channels === 2) made[to + 3] = data[from + 1]!;
  }
  return made;
}

/** CMYK → RGB by the product of ink and key, rounded as PIL rounds. */
function cmykToRgb(cmyk: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((cmyk.length / 4) * 3);
  for (let from = 0, to = 0; from < cmyk.length; from += 4) {
    const light = 255 - cmyk[from + 3]!;
    for (let ink = 0; ink < 3; ink++) {
      const product = cmyk[from + ink]! * light + 128;
      rgb[to++] = light - ((product + (product >> 8)) >> 8);
    }
  }
  return rgb;
}
