// Rounds what the factors leave of a matrix to 4 bits: integers with a scale for a group of inputs, or floats of E2M1 with scales of E4M3.

import { bfloatBits, bfloatValue } from '../../../files/tensors/half-values.ts';

/** Shares of the scale at which the largest value of a group is met, of which the one with the smallest error is taken. */
const SHARES = [1, 0.95, 0.9, 0.85, 0.8];

export interface Integers {
  /** Codes with 8 added, two to a byte. */
  codes: Uint8Array<ArrayBuffer>;
  scales: Float32Array<ArrayBuffer>;
}

/** The value of largest magnitude meets code 0, which is -8, so that the scale takes its sign. */
export function roundToIntegers(values: Float32Array, groupKs: number): Integers {
  const scales = new Float32Array(values.length / groupKs);
  const codes = new Uint8Array(values.length / 2);
  for (let group = 0; group < scales.length; group++) {
    const first = group * groupKs;
    let extreme = 0;
    for (let i = first; i < first + groupKs; i++)
      if (Math.abs(values[i]!) > Math.abs(extreme)) extreme = values[i]!;
    let [best, least] = [0, Infinity];
    for (const share of extreme === 0 ? [] : SHARES) {
      const scale = Math.fround((extreme * share) / -8);
      const error = errorOf(values, first, groupKs, scale);
      if (error < least) [best, least] = [scale, error];
    }
    scales[group] = best;
    const rate = best === 0 ? 0 : 1 / best;
    for (let i = first; i < first + groupKs; i += 2)
      codes[i >> 1] = codeOf(values[i]! * rate) | (codeOf(values[i + 1]! * rate) << 4);
  }
  return { codes, scales };
}

/** The sum of the squares of what codes with this scale miss. */
function errorOf(values: Float32Array, first: number, count: number, scale: number): number {
  const rate = 1 / scale;
  let error = 0;
  for (let i = first; i < first + count; i++) {
    const value = values[i]!;
    const missed = value - scale * (codeOf(value * rate) - 8);
    error += missed * missed;
  }
  return error;
}

/** The nearest of -8 to 7, with 8 added. */
const codeOf = (value: number): number => (value <= -8 ? 0 : value >= 7 ? 15 : (value + 8.5) | 0);

export interface Floats {
  codes: Uint8Array<ArrayBuffer>;
  /** A byte of E4M3 for each 16 values. */
  scales: Uint8Array<ArrayBuffer>;
}

const MOST_E2M1 = 6;
const MOST_E4M3 = 448;
const GROUP = 16;

/** Bits of the BF16 that all scales of a matrix are multiplied by, so that the largest is the largest of E4M3. */
export function factorOf(values: Float32Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return bfloatBits(most === 0 ? 1 : most / (MOST_E2M1 * MOST_E4M3));
}

export function roundToFloats(values: Float32Array, factor: number): Floats {
  const rate = bfloatValue(factor);
  const scales = new Uint8Array(values.length / GROUP);
  const codes = new Uint8Array(values.length / 2);
  for (let group = 0; group < scales.length; group++) {
    const first = group * GROUP;
    let most = 0;
    for (let i = first; i < first + GROUP; i++) most = Math.max(most, Math.abs(values[i]!));
    const code = e4m3Of(most / MOST_E2M1 / rate);
    const scale = e4m3(code) * rate;
    scales[group] = code;
    const inverse = scale === 0 ? 0 : 1 / scale;
    for (let i = first; i < first + GROUP; i += 2)
      codes[i >> 1] = nearest(values[i]! * inverse) | (nearest(values[i + 1]! * inverse) << 4);
  }
  return { codes, scales };
}

/** Magnitudes halfway between two levels: 0, 0.5, 1, 1.5, 2, 3, 4 and 6. */
const HALFWAY = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5] as const;

function nearest(value: number): number {
  const magnitude = Math.abs(value);
  const upper = magnitude > HALFWAY[3] ? 4 : 0;
  let code = upper;
  while (code < 7 && magnitude > HALFWAY[code]!) code++;
  return value < 0 && code > 0 ? code | 8 : code;
}

const e4m3 = (code: number): number =>
  code < 8 ? code * 2 ** -9 : (1 + (code & 7) / 8) * 2 ** ((code >> 3) - 7);
const VALUES = Float64Array.from({ length: 127 }, (_, code) => e4m3(code));

/** The code of the nearest E4M3 to a number that is not negative. */
function e4m3Of(value: number): number {
  let [low, high] = [0, VALUES.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (VALUES[middle]! <= value) low = middle;
    else high = middle;
  }
  return value - VALUES[low]! < VALUES[high]! - value ? low : high;
}
