// Arithmetic on decoded pixels where a page has no libvips. Results equal those of libvips to the last bit, but for those that equal Pillow's.

import type { Pixels } from './pixels.ts';

/** Decoded pixels before transparency is resolved. */
export interface Rgba {
  width: number;
  height: number;
  /** width · height · 4 bytes, RGB not multiplied by alpha. */
  data: Uint8Array;
}

/** Composites over a background whose channels all have this value. */
export function flatten({ width, height, data }: Rgba, background: number): Pixels {
  const made = new Uint8Array(3 * width * height);
  for (let from = 0, to = 0; from < data.length; from += 4) {
    const alpha = data[from + 3]!;
    const behind = background * (255 - alpha);
    made[to++] = (data[from]! * alpha + behind) / 255;
    made[to++] = (data[from + 1]! * alpha + behind) / 255;
    made[to++] = (data[from + 2]! * alpha + behind) / 255;
  }
  return { width, height, data: made };
}

/** Composites over white as Pillow does, with a product that is rounded. */
export function overWhite({ width, height, data }: Rgba): Pixels {
  const made = new Uint8Array(3 * width * height);
  for (let from = 0, to = 0; from < data.length; from += 4) {
    const alpha = data[from + 3]!;
    for (let i = 0; i < 3; i++)
      made[to++] = Math.floor((data[from + i]! * alpha + 255 * (255 - alpha)) / 255 + 0.5);
  }
  return { width, height, data: made };
}

/** The colours alone. */
export function withoutAlpha({ width, height, data }: Rgba): Pixels {
  const made = new Uint8Array(3 * width * height);
  for (let from = 0, to = 0; from < data.length; from += 4, to += 3)
    made.set(data.subarray(from, from + 3), to);
  return { width, height, data: made };
}

export function isOpaque({ data }: Rgba): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false;
  return true;
}

/** The inverted alpha channel as grey: transparent pixels are white. */
export function transparency({ width, height, data }: Rgba): Pixels {
  const made = new Uint8Array(3 * width * height);
  for (let from = 3, to = 0; from < data.length; from += 4, to += 3)
    made[to] = made[to + 1] = made[to + 2] = 255 - data[from]!;
  return { width, height, data: made };
}

/** Linear light of the 256 values of sRGB (IEC 61966-2-1). */
const LINEAR = Float32Array.from({ length: 256 }, (_, value) => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
});

/** Values of sRGB for linear light in steps of 1/255; the last step is there for the interpolation. */
const GAMMA = Float64Array.from({ length: 257 }, (_, step) => {
  const light = Math.min(step / 255, 1);
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
});

/** Luminance of linear light, as grey RGB. */
export function greyscale({ width, height, data }: Pixels): Pixels {
  const made = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 3) {
    const light =
      0.2126 * LINEAR[data[at]!]! + 0.7152 * LINEAR[data[at + 1]!]! + 0.0722 * LINEAR[data[at + 2]!]!;
    const step = Math.fround(light) * 255;
    const below = Math.trunc(step);
    const value = GAMMA[below]! + (GAMMA[below + 1]! - GAMMA[below]!) * (step - below);
    made[at] = made[at + 1] = made[at + 2] = Math.round(value);
  }
  return { width, height, data: made };
}

/** Turns and mirrors an image by its EXIF orientation, 1 to 8. */
export function orient(image: Pixels, orientation: number): Pixels {
  if (orientation === 1) return image;
  const isTurned = orientation >= 5;
  const [width, height] = isTurned ? [image.height, image.width] : [image.width, image.height];
  const fromRight = [2, 3, 7, 8].includes(orientation);
  const fromBottom = [3, 4, 6, 7].includes(orientation);
  const data = new Uint8Array(image.data.length);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      const [column, row] = isTurned ? [y, x] : [x, y];
      const fromX = fromRight ? image.width - 1 - column : column;
      const fromY = fromBottom ? image.height - 1 - row : row;
      const from = 3 * (fromY * image.width + fromX);
      data[to] = image.data[from]!;
      data[to + 1] = image.data[from + 1]!;
      data[to + 2] = image.data[from + 2]!;
    }
  }
  return { width, height, data };
}
