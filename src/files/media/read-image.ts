// An image as PIL decodes it, which the processors of vision models are made with: EXIF orientation applied, ICC profiles ignored, CMYK
// converted by the plain formula. Equal to PIL 13 to the last bit for JPEG, PNG, WebP, GIF and TIFF, but for 16-bit grey, which PIL cuts off at
// 255 and which here keeps its high byte. An animation gives its first image.

import type { Metadata, Sharp, SharpOptions } from 'sharp';
import type { Pixels } from '../image/pixels.ts';
import { formatOf } from './format.ts';
import { type AlphaRule, MEDIA_NOUNS, type MediaBounds } from './media.ts';
import { beyond, undecodable } from './media-error.ts';

export interface ImageReading {
  bounds: Pick<MediaBounds, 'maxImagePixels'>;
  /** Default: dropped. */
  alpha?: AlphaRule;
}

/** Decodes an image. `name` is the parameter that holds it, for messages. Throws bad_request. */
export async function readImage(bytes: Uint8Array, name: string, reading: ImageReading): Promise<Pixels> {
  formatOf(bytes, 'image', name);
  try {
    const pipeline = await openSharp(bytes);
    const metadata = await pipeline.metadata();
    checkPixels(metadata, name, reading.bounds);
    return await toRgb(pipeline.autoOrient(), metadata, reading.alpha ?? 'dropped');
  } catch (cause) {
    throw undecodable(name, MEDIA_NOUNS.image.one, cause);
  }
}

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
  const coloured = isCmyk
    ? pipeline.pipelineColourspace('cmyk').toColourspace('cmyk')
    : withoutAlpha(pipeline, alpha).toColourspace('srgb');
  const { data, info } = await coloured.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  return {
    width: info.width,
    height: info.height,
    data: isCmyk ? cmykToRgb(data) : threeChannels(data, info),
  };
}

export function withoutAlpha(pipeline: Sharp, alpha: AlphaRule): Sharp {
  return alpha === 'white'
    ? pipeline.flatten({ background: '#ffffff' }).removeAlpha()
    : pipeline.removeAlpha();
}

/** A grey image may come back with one channel. */
export function threeChannels(data: Uint8Array, { channels }: { channels: number }): Uint8Array {
  if (channels === 3) return new Uint8Array(data);
  const rgb = new Uint8Array(3 * data.length);
  for (let at = 0; at < data.length; at++) rgb.fill(data[at]!, 3 * at, 3 * at + 3);
  return rgb;
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
