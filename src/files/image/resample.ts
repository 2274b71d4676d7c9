// Resizes images like Pillow: a separable filter, widened when the image shrinks, in fixed point with eight bits between the
// passes. Values equal Pillow's to the last bit, so that images prepared in this way equal those in diffusers.

import type { Pixels } from './image.ts';

interface Filter {
  /** Half of the filter's width, in pixels. */
  reach: number;
  at(x: number): number;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const FILTERS = {
  lanczos: { reach: 3, at: (x: number) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
  /** Bicubic filter with a = −1/2. */
  bicubic: {
    reach: 2,
    at(signed: number) {
      const x = Math.abs(signed);
      if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
      return x < 2 ? -0.5 * (((x - 5) * x + 8) * x - 4) : 0;
    },
  },
} satisfies Record<string, Filter>;

const ONE = 2 ** 22;

export interface ResampleOptions {
  filter?: keyof typeof FILTERS;
  /** Part of the image to use, in pixels; with zero height or width: its edge. */
  box?: { left: number; top: number; right: number; bottom: number };
}

export function resample(
  image: Pixels,
  width: number,
  height: number,
  { filter = 'lanczos', box }: ResampleOptions = {},
): Pixels {
  const { left, top, right, bottom } = box ?? { left: 0, top: 0, right: image.width, bottom: image.height };
  const across = tapsOf(FILTERS[filter], image.width, [left, right], width);
  const down = tapsOf(FILTERS[filter], image.height, [top, bottom], height);
  const { data } = image;
  // Values are rounded to eight bits between the passes, so their order matters.
  if (image.height - height > 2 * Math.max(image.width - width, 0)) {
    const low = columns(data, image.width, down);
    return { width, height, data: rows(low, { width: image.width, height }, across) };
  }
  return { width, height, data: columns(rows(data, image, across), width, down) };
}

/** Filters along rows; each row gets as many pixels as there are taps. */
function rows(from: Uint8Array, { width, height }: Omit<Pixels, 'data'>, taps: readonly Taps[]): Uint8Array {
  return pass(from, { lines: height, line: 3 * width, step: 3 }, { line: 3 * taps.length, step: 3 }, taps);
}

/** Filters along columns; each column gets as many pixels as there are taps. */
function columns(from: Uint8Array, width: number, taps: readonly Taps[]): Uint8Array {
  const strides = { line: 3, step: 3 * width };
  return pass(from, { lines: width, ...strides }, strides, taps);
}

/** Bytes from one line to the next, and from one pixel to the next along a line. */
interface Strides {
  line: number;
  step: number;
}

function pass(
  from: Uint8Array,
  { lines, line, step }: Strides & { lines: number },
  to: Strides,
  taps: readonly Taps[],
): Uint8Array {
  const made = new Uint8Array(3 * lines * taps.length);
  for (const [i, { first, weights }] of taps.entries()) {
    for (let at = 0; at < lines; at++) {
      for (let channel = 0; channel < 3; channel++) {
        let sum = ONE / 2;
        let place = at * line + first * step + channel;
        for (const weight of weights) {
          sum += weight * from[place]!;
          place += step;
        }
        made[at * to.line + i * to.step + channel] = Math.min(Math.max(Math.floor(sum / ONE), 0), 255);
      }
    }
  }
  return made;
}

interface Taps {
  /** Index of the first weight's pixel. */
  first: number;
  /** Weights in fixed point. */
  weights: number[];
}

/** Source pixels and weights of each of `count` pixels over a span of a line of `length`. */
function tapsOf({ reach, at }: Filter, length: number, [from, to]: [number, number], count: number): Taps[] {
  const scale = (to - from) / count;
  const widening = Math.max(scale, 1);
  const support = reach * widening;
  return Array.from({ length: count }, (_, i) => {
    const centre = from + (i + 0.5) * scale;
    const first = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), length);
    const exact = Array.from({ length: end - first }, (__, k) => at((first + k - centre + 0.5) / widening));
    const total = exact.reduce((sum, weight) => sum + weight, 0);
    return {
      first,
      weights: exact.map((weight) => roundAway((weight / total) * ONE)),
    };
  });
}

const roundAway = (x: number): number => Math.trunc(x + Math.sign(x) / 2);
