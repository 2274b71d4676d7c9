// Inpainting a part of an image ("padding_mask_crop"): the mask and its surroundings are drawn at the model's full size and pasted
// back into the image. Regions, sizes and edges equal those of diffusers to the pixel.

import { resample } from '../../../files/image/resample.ts';
import { badRequest } from '../../../files/error.ts';
import type { Pixels, Size } from '../calls/image-model.ts';

/** Rectangle in pixels; right and bottom are exclusive. */
export interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The mask in grey, with the weights by which PIL makes grey of colours. */
export function greyMask({ width, height, data }: Pixels): Pixels {
  const grey = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 3) {
    const value = (19595 * data[at]! + 38470 * data[at + 1]! + 7471 * data[at + 2]! + 0x8000) >> 16;
    grey.fill(value, at, at + 3);
  }
  return { width, height, data: grey };
}

/** Returns true if the mask is black everywhere. */
export function isEmpty({ data }: Pixels): boolean {
  return data.every((value) => value === 0);
}

/** Throws bad_request for a mask that is black everywhere, around which nothing can be cut out. */
export function requireMarked(mask: Pixels): void {
  if (!isEmpty(mask)) return;
  const message = 'the mask is black throughout, and padding_mask_crop draws what lies around its white';
  throw badRequest(`${message}: mark what to draw`, 'mask');
}

/** Returns the bounding box of the mask's non-black part, padded, and widened to the proportions of `drawn` within the image. */
export function cropRegion(mask: Pixels, drawn: Size, padding: number): Region {
  const { width, height } = mask;
  const marked = bounds(mask);
  const left = Math.max(marked.left - padding, 0);
  const top = Math.max(marked.top - padding, 0);
  const right = Math.min(marked.right + padding, width);
  const bottom = Math.min(marked.bottom + padding, height);
  const ratio = drawn.width / drawn.height;
  if ((right - left) / (bottom - top) > ratio) {
    const [from, to] = widen(top, bottom, (right - left) / ratio, height);
    return { left, right, top: from, bottom: to };
  }
  const [from, to] = widen(left, right, (bottom - top) * ratio, width);
  return { left: from, right: to, top, bottom };
}

function bounds({ width, data }: Pixels): Region {
  const region = { left: Infinity, top: Infinity, right: 0, bottom: 0 };
  for (let at = 0; 3 * at < data.length; at++) {
    if (data[3 * at] === 0) continue;
    const [x, y] = [at % width, Math.floor(at / width)];
    region.left = Math.min(region.left, x);
    region.top = Math.min(region.top, y);
    region.right = Math.max(region.right, x + 1);
    region.bottom = Math.max(region.bottom, y + 1);
  }
  return region;
}

/** Widens a span on both sides to `wanted`, moves it to lie within 0 … `most`, and cuts it if it is too long. */
function widen(from: number, to: number, wanted: number, most: number): [number, number] {
  const more = Math.trunc(wanted - (to - from));
  const begins = from - Math.floor(more / 2);
  const ends = to + more - Math.floor(more / 2);
  const first = begins - Math.max(ends - most, 0);
  const last = Math.min(ends, most);
  return first < 0 ? [0, Math.min(last - first, most)] : [first, last];
}

export function crop({ width, data }: Pixels, { left, top, right, bottom }: Region): Pixels {
  const made = { width: right - left, height: bottom - top };
  const part = new Uint8Array(3 * made.width * made.height);
  for (let y = 0; y < made.height; y++) {
    const at = 3 * ((top + y) * width + left);
    part.set(data.subarray(at, at + 3 * made.width), 3 * y * made.width);
  }
  return { ...made, data: part };
}

/** Scales an image to fit into the size; the remaining area repeats the image's edges. */
export function within(image: Pixels, { width, height }: Size): Pixels {
  const wide = width / height < image.width / image.height;
  const scaled = scaledBy(image, wide ? { width } : { height });
  const made = placed(scaled, { width, height });
  const [beside, above] = [offset(width, scaled.width), offset(height, scaled.height)];
  const edge = (box: Region, size: Size, x: number, y: number): void =>
    put(made, resample(scaled, size.width, size.height, { filter: 'bicubic', box }), x, y);
  if (wide && above > 0) {
    const size = { width, height: above };
    const { height: end } = scaled;
    edge({ left: 0, right: width, top: 0, bottom: 0 }, size, 0, 0);
    edge({ left: 0, right: width, top: end, bottom: end }, size, 0, above + end);
  } else if (beside > 0) {
    const size = { width: beside, height };
    const { width: end } = scaled;
    edge({ top: 0, bottom: height, left: 0, right: 0 }, size, 0, 0);
    edge({ top: 0, bottom: height, left: end, right: end }, size, beside + end, 0);
  }
  return made;
}

/** Scales an image to cover the size and crops the rest. */
function covering(image: Pixels, { width, height }: Size): Pixels {
  const wide = width / height > image.width / image.height;
  return placed(scaledBy(image, wide ? { width } : { height }), { width, height });
}

/** Scales an image to a width or a height, keeping its proportions. */
function scaledBy(image: Pixels, side: { width: number } | { height: number }): Pixels {
  const { width, height } = image;
  const other = (share: number): number => Math.max(Math.floor(share), 1);
  return 'width' in side
    ? resample(image, side.width, other((height * side.width) / width))
    : resample(image, other((width * side.height) / height), side.height);
}

const offset = (outer: number, inner: number): number => Math.floor(outer / 2) - Math.floor(inner / 2);

/** Centres an image on black. */
function placed(image: Pixels, { width, height }: Size): Pixels {
  const made = { width, height, data: new Uint8Array(3 * width * height) };
  put(made, image, offset(width, image.width), offset(height, image.height));
  return made;
}

/** Copies an image into another; parts outside are cut off. */
function put(into: Pixels, image: Pixels, x: number, y: number): void {
  const left = Math.max(x, 0);
  const right = Math.min(x + image.width, into.width);
  for (let row = Math.max(y, 0); row < Math.min(y + image.height, into.height); row++) {
    const at = 3 * ((row - y) * image.width + left - x);
    into.data.set(image.data.subarray(at, at + 3 * (right - left)), 3 * (row * into.width + left));
  }
}

/** Returns the image with the drawn region pasted over it where the mask is white. */
export function overlay(image: Pixels, mask: Pixels, drawn: Pixels, region: Region): Pixels {
  const size = { width: region.right - region.left, height: region.bottom - region.top };
  const laid = { width: image.width, height: image.height, data: new Uint8Array(image.data.length) };
  put(laid, covering(drawn, size), region.left, region.top);
  const data = image.data.map((kept, at) => {
    const share = mask.data[at]!;
    return Math.round((kept * (255 - share) + laid.data[at]! * share) / 255);
  });
  return { ...laid, data };
}
