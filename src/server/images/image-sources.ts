// The images that a request sends: sources and mask, images of ControlNets and of an IP-Adapter. A small file may hold many pixels, so that
// the pixels of one request are bounded together, and images are decoded one after the other.

import {
  decodeAlphaMask,
  decodeImage,
  EngineError,
  type ImageRequest,
  type Pixels,
  sameProportions,
} from '../../index.ts';
import { fieldError } from '../http/errors.ts';
import type { ImageBody } from './image-schema.ts';

/** Pixels that all images of one request may have together: four of the largest image that is decoded. */
const MOST_PIXELS = 4 * 8192 * 8192;

/** The decoded images of a request. */
export interface SentImages {
  image?: Pixels;
  furtherImages?: readonly Pixels[];
  mask?: Pixels;
  controlImages?: readonly Pixels[];
  ipAdapterImage?: Pixels;
}

/** A request to the engine whose images, if any, are decoded. */
export type DecodedRequest = Omit<ImageRequest, keyof SentImages> & SentImages;

export function sendsImages({ image, url, control_image, ip_adapter_image }: ImageBody): boolean {
  return [image, url, control_image, ip_adapter_image].some((sent) => sent !== undefined);
}

/** Decodes all images of a request. Throws RequestError, bad_request that names the field, and `cancelled` once the signal aborts. */
export async function decodeImages(
  body: ImageBody,
  signal: AbortSignal,
  mostPixels = MOST_PIXELS,
): Promise<SentImages> {
  const decoding = new Decoding(signal, mostPixels);
  return { ...(await decodeSources(body, decoding)), ...(await decodeControls(body, decoding)) };
}

/** Decodes the images of one request in order. */
class Decoding {
  readonly #signal: AbortSignal;
  readonly #most: number;
  #pixels = 0;

  constructor(signal: AbortSignal, most: number) {
    this.#signal = signal;
    this.#most = most;
  }

  async next(sent: string | File, field: string, decode = decodeImage): Promise<Pixels> {
    if (this.#signal.aborted)
      throw new EngineError('cancelled', 'the request was cancelled before its images were decoded');
    return decode(await bytesOf(sent), field, ({ width, height }) => this.#count(width * height, field));
  }

  /** By the size that a header states: nothing is allocated for an image that is refused here. */
  #count(pixels: number, field: string): void {
    this.#pixels += pixels;
    if (this.#pixels <= this.#most) return;
    throw fieldError(
      field,
      `brings the images of this request to ${this.#pixels} pixels together, above the limit of ${this.#most}; send smaller or fewer ones`,
      'request_too_large',
    );
  }
}

/** A file of a form, or a data: URL in base64. */
async function bytesOf(sent: string | File): Promise<Uint8Array> {
  if (typeof sent === 'string') return Buffer.from(sent.slice(sent.indexOf(',') + 1), 'base64');
  return new Uint8Array(await sent.arrayBuffer());
}

/** The source images and the mask; of several the last is the one whose size is taken. */
async function decodeSources(
  { image: sent, url, mask: maskFile }: ImageBody,
  decoding: Decoding,
): Promise<Pick<SentImages, 'image' | 'furtherImages' | 'mask'>> {
  if (!sent && url === undefined) return {};
  const files = Array.isArray(sent) ? sent : sent ? [sent] : [];
  const images: Pixels[] = [];
  for (const file of files) images.push(await decoding.next(file, 'image'));
  const image = images.pop() ?? (await decoding.next(url ?? '', 'url'));
  const mask = maskFile && (await decoding.next(maskFile, 'mask', decodeAlphaMask));
  if (mask && !sameProportions(mask, image)) {
    throw fieldError(
      'mask',
      `has ${mask.width} × ${mask.height} pixels, and the image ${image.width} × ${image.height}; send both with the same proportions`,
    );
  }
  return { image, ...(images.length > 0 && { furtherImages: images }), ...(mask && { mask }) };
}

/** The images of ControlNets and of an IP-Adapter. */
async function decodeControls(
  { control_image: controls = [], ip_adapter_image: prompt }: ImageBody,
  decoding: Decoding,
): Promise<Pick<SentImages, 'controlImages' | 'ipAdapterImage'>> {
  const controlImages: Pixels[] = [];
  for (const one of Array.isArray(controls) ? controls : [controls])
    controlImages.push(await decoding.next(one, 'control_image'));
  return {
    ...(controlImages.length > 0 && { controlImages }),
    ...(prompt !== undefined && { ipAdapterImage: await decoding.next(prompt, 'ip_adapter_image') }),
  };
}
