// Resizes images like Pillow: a separable filter, widened when the image shrinks, in fixed point with eight bits between the
// passes. Values equal Pillow's to the last bit, or torchvision's, so that images prepared in this way equal those in diffusers and transformers.

import type { Pixels } from './pixels.ts';

interface Filter {
  /** Half of the filter's width, in pixels. */
  reach: number;
  at(x: number): number;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const FILTERS = {
  lanczos: { reach: 3, at: (x: number) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
  bilinear: { reach: 1, at: (x: number) => Math.max(0, 1 - Math.abs(x)) },
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

/** Most bits after the point of a weight; sums of products with bytes stay within 32 bits. */
const FRACTION_BITS = 22;
/** torch keeps weights below this number, in 16 bits. */
const SHORT = 2 ** 15;

export interface ResampleOptions {
  filter?: keyof typeof FILTERS;
  /** Part of the image to use, in pixels; with zero height or width: its edge. */
  box?: { left: number; top: number; right: number; bottom: number };
  /** Filters as torchvision does with bytes: along rows first, whatever the sizes, with weights of 16 bits; left out: as Pillow does. */
  rowsFirst?: boolean;
}

export function resample(
  image: Pixels,
  width: number,
  height: number,
  options: ResampleOptions = {},
): Pixels {
  return new Resampling(image, width, height, options).rows(0, height);
}

/** Values of a band of a resized image. */
const BAND_VALUES = 2 ** 19;

/** The image that `resample` returns, by bands of rows: yields between them. */
export function* resampleInBands(
  image: Pixels,
  width: number,
  height: number,
  options: ResampleOptions = {},
): Generator<void, Pixels, void> {
  const resampling = new Resampling(image, width, height, options);
  const data = new Uint8Array(3 * width * height);
  // A pass reads up to all pixels of its image.
  const work = Math.max(width, image.width) * Math.max(1, image.height / height);
  const band = Math.max(1, Math.floor(BAND_VALUES / work));
  for (let from = 0; from < height; from += band) {
    if (from > 0) yield;
    data.set(resampling.rows(from, Math.min(height, from + band)).data, 3 * width * from);
  }
  return { width, height, data };
}

/** An image that is resized by bands of rows. */
export class Resampling {
  readonly #image: Pixels;
  readonly #across: Line;
  readonly #down: Line;
  /** Values are rounded to eight bits between the passes, so their order matters. */
  readonly #columnsFirst: boolean;
  /** Rows of the image from `first` on, filtered for the last band: where an image shrinks, the next band needs most of them again. */
  #filtered: { first: number; rows: Pixels } = { first: 0, rows: NONE };

  constructor(image: Pixels, width: number, height: number, options: ResampleOptions) {
    const { filter = 'lanczos', box, rowsFirst = false } = options;
    const { left, top, right, bottom } = box ?? { left: 0, top: 0, right: image.width, bottom: image.height };
    this.#image = image;
    const fixed = rowsFirst ? shortLine : longLine;
    this.#across = fixed(weightsOf(FILTERS[filter], image.width, [left, right], width));
    this.#down = fixed(weightsOf(FILTERS[filter], image.height, [top, bottom], height));
    this.#columnsFirst = !rowsFirst && image.height - height > 2 * Math.max(image.width - width, 0);
  }

  /** Returns the rows from `from` to before `to` of the resized image. */
  rows(from: number, to: number): Pixels {
    const { bits, taps } = this.#down;
    const down = taps.slice(from, to);
    if (this.#columnsFirst) return filterRows(filterColumns(this.#image, { bits, taps: down }), this.#across);
    const first = Math.min(...down.map(({ first }) => first));
    const end = Math.max(...down.map(({ first, weights }) => first + weights.length));
    return filterColumns(this.#filteredRows(first, end), {
      bits,
      taps: down.map((tap) => ({ ...tap, first: tap.first - first })),
    });
  }

  /** Rows of the image, each filtered along itself, once if bands are asked for in order. */
  #filteredRows(first: number, end: number): Pixels {
    const { first: begin, rows: last } = this.#filtered;
    const known = begin + last.height;
    const isShared = begin <= first && first < known;
    const shared = isShared ? rowsOf(last, first - begin, Math.min(end, known) - begin) : NONE;
    const from = first + shared.height;
    const fresh = filterRows(rowsOf(this.#image, from, Math.max(from, end)), this.#across);
    const data = new Uint8Array(shared.data.length + fresh.data.length);
    data.set(shared.data);
    data.set(fresh.data, shared.data.length);
    const rows = { width: fresh.width, height: end - first, data };
    this.#filtered = { first, rows };
    return rows;
  }
}

const NONE: Pixels = { width: 0, height: 0, data: new Uint8Array(0) };

function rowsOf({ width, data }: Pixels, first: number, end: number): Pixels {
  return { width, height: end - first, data: data.subarray(3 * width * first, 3 * width * end) };
}

/** Filters along rows; each row gets as many pixels as there are taps. */
function filterRows({ width, height, data }: Pixels, { bits, taps }: Line): Pixels {
  const half = 2 ** (bits - 1);
  const made = new Uint8ClampedArray(3 * taps.length * height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    for (const { first, weights } of taps) {
      let red = half;
      let green = half;
      let blue = half;
      let from = 3 * (y * width + first);
      for (let k = 0; k < weights.length; k++, from += 3) {
        const weight = weights[k]!;
        red += Math.imul(weight, data[from]!);
        green += Math.imul(weight, data[from + 1]!);
        blue += Math.imul(weight, data[from + 2]!);
      }
      made[to++] = red >> bits;
      made[to++] = green >> bits;
      made[to++] = blue >> bits;
    }
  }
  return { width: taps.length, height, data: new Uint8Array(made.buffer) };
}

/** Filters along columns; each column gets as many pixels as there are taps. */
function filterColumns({ width, data }: Pixels, { bits, taps }: Line): Pixels {
  const half = 2 ** (bits - 1);
  const line = 3 * width;
  const made = new Uint8ClampedArray(line * taps.length);
  const sums = new Int32Array(line);
  for (const [y, { first, weights }] of taps.entries()) {
    sums.fill(half);
    for (let k = 0; k < weights.length; k++) {
      const weight = weights[k]!;
      const from = (first + k) * line;
      for (let at = 0; at < line; at++) sums[at] = sums[at]! + Math.imul(weight, data[from + at]!);
    }
    for (let at = 0; at < line; at++) made[y * line + at] = sums[at]! >> bits;
  }
  return { width, height: taps.length, data: new Uint8Array(made.buffer) };
}

interface Taps<Weights = Int32Array> {
  /** Index of the first weight's pixel. */
  first: number;
  weights: Weights;
}

/** Weights in fixed point, with so many bits after the point. */
interface Line {
  bits: number;
  taps: readonly Taps[];
}

/** Values of a line of `length` that each of `count` values mixes, and their shares. */
export function mixtureOf(filter: keyof typeof FILTERS, length: number, count: number): Taps<number[]>[] {
  return weightsOf(FILTERS[filter], length, [0, length], count);
}

/** Source pixels and weights of each of `count` pixels over a span of a line of `length`. */
function weightsOf(
  { reach, at }: Filter,
  length: number,
  [from, to]: [number, number],
  count: number,
): Taps<number[]>[] {
  const scale = Math.fround(to - from) / count; // Pillow's boxes have 32-bit edges
  const widening = Math.max(scale, 1);
  const support = reach * widening;
  return Array.from({ length: count }, (_, i) => {
    const centre = from + (i + 0.5) * scale;
    const first = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), length);
    const exact = Array.from({ length: end - first }, (__, k) => at((first + k - centre + 0.5) / widening));
    const total = exact.reduce((sum, weight) => sum + weight, 0);
    return { first, weights: exact.map((weight) => weight / total) };
  });
}

/** Halves are rounded away from zero. */
const longLine = (taps: readonly Taps<number[]>[], bits = FRACTION_BITS): Line => ({
  bits,
  taps: taps.map(({ first, weights }) => ({
    first,
    weights: Int32Array.from(weights, (weight) => Math.trunc(weight * 2 ** bits + Math.sign(weight) / 2)),
  })),
});

/** As many bits as the largest weight leaves. Source: torch's upsampling of bytes. */
function shortLine(taps: readonly Taps<number[]>[]): Line {
  const most = taps.reduce((all, { weights }) => Math.max(all, ...weights), 0);
  let bits = 0;
  while (bits < FRACTION_BITS && Math.trunc(0.5 + most * 2 ** (bits + 1)) < SHORT) bits++;
  return longLine(taps, bits);
}
