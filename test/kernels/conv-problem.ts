// A convolution on random inputs, run on an adapter and judged by sums in f64.

import { expect } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import type { Columns } from '../../src/kernels/columns.ts';
import { conv2d } from '../../src/kernels/conv2d.ts';
import type { Conv2dOptions } from '../../src/kernels/convolution.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { Random, type Input } from './compute.ts';
import { computeImages, packConv, type ConvWeights } from './images.ts';

export interface Case {
  format?: Format;
  batch?: number;
  height: number;
  width: number;
  channels: number;
  out: number;
  kernel?: 1 | 3;
  hasBias?: boolean;
  stride?: 1 | 2;
  padding?: 'same' | 'after' | 'edges';
  upsample?: boolean | { height: number; width: number };
  perImage?: boolean;
  /** First column of the values that are added per image; other columns surround them. */
  addedFrom?: number;
  residual?: boolean;
  inPlace?: boolean;
  winograd?: boolean;
  activation?: 'silu' | 'relu' | 'leaky-relu';
}

export interface Problem extends Required<Omit<Case, 'activation'>> {
  activation: 'silu' | 'relu' | 'leaky-relu' | undefined;
  weights: ConvWeights;
  x: Float32Array;
  added: Float32Array;
  skip: Float32Array;
  seen: { height: number; width: number };
  size: { height: number; width: number };
}

export function problem(on: Device, given: Case): Problem {
  const of = {
    format: 'f32' as const,
    batch: 1,
    kernel: 3 as const,
    hasBias: true,
    stride: 1 as const,
    padding: 'same' as const,
    upsample: false,
    perImage: false,
    addedFrom: 0,
    residual: false,
    inPlace: false,
    winograd: false,
    activation: undefined,
    ...given,
  };
  const { batch, height, width, channels, out, kernel, upsample } = of;
  const random = new Random(height * 1000 + channels);
  const seen =
    typeof upsample === 'object'
      ? upsample
      : upsample
        ? { height: 2 * height, width: 2 * width }
        : { height, width };
  const around = kernel === 1 ? 0 : of.padding === 'after' ? 1 : 2;
  const extent = (size: number) => Math.floor((size + around - kernel) / of.stride) + 1;
  const size = { height: extent(seen.height), width: extent(seen.width) };
  return {
    ...of,
    weights: packConv(on, of, random),
    x: random.floats(batch * height * width * channels),
    added: random.floats(batch * out),
    skip: random.floats(batch * size.height * size.width * out),
    seen,
    size,
  };
}

/** Images `from` to `to` of a problem. */
export function run(on: Device, of: Problem, from = 0, to: number = of.batch): Promise<Float32Array[]> {
  const { height, width, channels, out, size, stride, padding, upsample, inPlace, activation } = of;
  const pixels = size.height * size.width;
  const batch = to - from;
  return computeImages(on, (input) => {
    const x = input(
      [batch, height, width, channels],
      of.x.subarray(from * height * width * channels, to * height * width * channels),
    );
    const options: Conv2dOptions = { stride, padding, upsample, inPlace, activation };
    if (of.perImage) options.perImage = perImageOf(of, input, from, to);
    if (of.residual) {
      const values = of.skip.subarray(from * pixels * out, to * pixels * out);
      options.residual = input([batch, size.height, size.width, out], values);
    }
    return conv2d(x, of.weights.matrix, options);
  });
}

function perImageOf(
  { added, addedFrom, out }: Problem,
  input: Input,
  from: number,
  to: number,
): Tensor | Columns {
  if (addedFrom === 0) return input([to - from, out], added.subarray(from * out, to * out));
  const columns = addedFrom + out + 4;
  const wide = new Float32Array((to - from) * columns).fill(NaN);
  for (let i = from; i < to; i++) {
    wide.set(added.subarray(i * out, (i + 1) * out), (i - from) * columns + addedFrom);
  }
  return { x: input([to - from, columns], wide), first: addedFrom };
}

/** Rounding of at most a few ulp of the largest partial sum. */
const ROUNDING = 2e-6;

/** Returns the largest error in units of the tolerance; with many outputs, of a sample spread over all of them. */
export function worstError(of: Problem, y: Float32Array[]): number {
  const { batch, out, size } = of;
  const total = batch * size.height * size.width * out;
  const step = Math.max(1, Math.floor(total / 20_000));
  let worst = 0;
  for (let i = 0; i < total; i += step) {
    const [pixel, column] = [Math.floor(i / out), i % out];
    const wanted = outputOf(of, pixel, column);
    const error = Math.abs(y[pixel]![column]! - wanted.value) / (ROUNDING * (wanted.size + 0.01));
    worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
  }
  return worst;
}

/** Returns one output, and the sum of its terms' magnitudes, to which the rounding error is relative. */
function outputOf(of: Problem, pixel: number, column: number): { value: number; size: number } {
  const { size, kernel, stride, seen, height, width, channels, out, weights } = of;
  const image = Math.floor(pixel / (size.height * size.width));
  const row = Math.floor(pixel / size.width) % size.height;
  const pad = kernel === 3 && of.padding !== 'after' ? 1 : 0;
  const [bias, added, skip] = [
    weights.bias?.[column] ?? 0,
    of.perImage ? of.added[image * out + column]! : 0,
    of.residual ? of.skip[pixel * out + column]! : 0,
  ];
  let sum = bias + added + skip;
  let sizes = Math.abs(bias) + Math.abs(added) + Math.abs(skip);
  for (let tap = 0; tap < kernel * kernel; tap++) {
    let y = row * stride - pad + Math.floor(tap / kernel);
    let x = (pixel % size.width) * stride - pad + (tap % kernel);
    if (of.padding === 'edges') {
      y = Math.min(Math.max(y, 0), seen.height - 1);
      x = Math.min(Math.max(x, 0), seen.width - 1);
    }
    if (y < 0 || x < 0 || y >= seen.height || x >= seen.width) continue;
    const [fromY, fromX] = [Math.floor((y * height) / seen.height), Math.floor((x * width) / seen.width)];
    const at = ((image * height + fromY) * width + fromX) * channels;
    for (let c = 0; c < channels; c++) {
      const term = of.x[at + c]! * weights.values[(column * channels + c) * kernel * kernel + tap]!;
      sum += term;
      sizes += Math.abs(term);
    }
  }
  if (of.activation === 'relu') return { value: Math.max(sum, 0), size: sizes };
  if (of.activation === 'leaky-relu') return { value: Math.max(sum, 0.2 * sum), size: sizes };
  // SiLU's slope is at most 1.1; exp is off by up to 3 + 2 |x| ulp.
  return of.activation === 'silu'
    ? { value: sum / (1 + Math.exp(-sum)), size: 2 * sizes }
    : { value: sum, size: sizes };
}

export async function expectRight(on: Device, given: Case): Promise<void> {
  const of = problem(on, given);
  expect(worstError(of, await run(on, of)), JSON.stringify(given)).toBeLessThan(1);
}
