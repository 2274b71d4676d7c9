// Frames of brightness and two colour differences → RGB, by the matrix and the range that the video states. The arithmetic is that of FFmpeg's
// fast conversion: factors of 13 bits, products that are cut off, one colour for a block of pixels. Eight bits equal it to the last bit.

import type { Pixels } from '../image/pixels.ts';

export interface StatedColours {
  /** By its name in WebCodecs; null: not stated. */
  matrix: string | null;
  fullRange: boolean | null;
}

export interface PlaneFormat {
  /** Pixels that share a colour, across and down. */
  across: number;
  down: number;
  /** Number of bits of a value. */
  bits: number;
}

/** Shares of red and blue in brightness. A video that states none has those of standard definition, as for FFmpeg. */
const SHARES: Readonly<Record<string, readonly [red: number, blue: number]>> = {
  bt709: [0.2126, 0.0722],
  'bt2020-ncl': [0.2627, 0.0593],
};
const STANDARD = [0.299, 0.114] as const;
const SUBSAMPLED: Readonly<Record<string, readonly [across: number, down: number]>> = {
  420: [2, 2],
  422: [2, 1],
  444: [1, 1],
};

/**
 * The layout of a format by its name in WebCodecs; null: it has no three planes, or FFmpeg's other conversion, which spreads colours, has no
 * other matrix to respect.
 */
export function planeFormat(name: string | null, { matrix }: StatedColours): PlaneFormat | null {
  if (name !== 'I420' && SHARES[matrix ?? ''] === undefined) return null;
  const [, form = '', bits = '8'] = /^I(420|422|444)(?:P(10|12))?$/.exec(name ?? '') ?? [];
  const pixels = SUBSAMPLED[form];
  return pixels ? { across: pixels[0], down: pixels[1], bits: Number(bits) } : null;
}

/** `planes`: one behind the other, without padding; values of more than eight bits have two bytes each, the lower one first. */
export function rgbOfPlanes(
  planes: Uint8Array,
  { width, height }: { width: number; height: number },
  { across, down, bits }: PlaneFormat,
  colours: StatedColours,
): Pixels {
  const values = bits === 8 ? planes : eightBits(planes, bits);
  const line = Math.ceil(width / across);
  const blue = width * height;
  const red = blue + line * Math.ceil(height / down);
  const factors = factorsOf(colours);
  const data = new Uint8ClampedArray(3 * width * height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = Math.floor(y / down) * line + Math.floor(x / across);
      const light = ((values[y * width + x]! - factors.black) * factors.light) >> 13;
      const [u, v] = [values[blue + at]! - 128, values[red + at]! - 128];
      data[to++] = light + ((v * factors.redOfRed) >> 13);
      data[to++] = light + ((u * factors.greenOfBlue) >> 13) + ((v * factors.greenOfRed) >> 13);
      data[to++] = light + ((u * factors.blueOfBlue) >> 13);
    }
  }
  return { width, height, data: new Uint8Array(data.buffer) };
}

function factorsOf({ matrix, fullRange }: StatedColours) {
  const [red, blue] = SHARES[matrix ?? ''] ?? STANDARD;
  const green = 1 - red - blue;
  const [light, colour] = fullRange ? [1, 1] : [255 / 219, 255 / 224];
  const fixed = (factor: number): number => Math.floor(factor * 2 ** 13 + 0.5);
  return {
    black: fullRange ? 0 : 16,
    light: fixed(light),
    redOfRed: fixed(2 * (1 - red) * colour),
    greenOfRed: fixed(((-2 * red * (1 - red)) / green) * colour),
    greenOfBlue: fixed(((-2 * blue * (1 - blue)) / green) * colour),
    blueOfBlue: fixed(2 * (1 - blue) * colour),
  };
}

function eightBits(planes: Uint8Array, bits: number): Uint8Array {
  const made = new Uint8Array(planes.length / 2);
  for (let i = 0; i < made.length; i++) {
    const value = planes[2 * i]! | (planes[2 * i + 1]! << 8);
    made[i] = Math.min(255, (value + (1 << (bits - 9))) >> (bits - 8));
  }
  return made;
}
