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
      let error = 0;
      for (let i = first; i < first + groupKs; i++)
        error += (values[i]! - scale * level(values[i]! / scale)) ** 2;
      if (error < least) [best, least] = [scale, error];
    }
    scales[group] = best;
    for (let i = first; i < first + groupKs; i++)
      codes[i >> 1]! |= (best === 0 ? 8 : level(values[i]! / best) + 8) << (4 * (i & 1));
  }
  return { codes, scales };
}

const level = (value: number): number => Math.max(-8, Math.min(7, Math.round(value)));

export interface Floats {
  codes: Uint8Array<ArrayBuffer>;
  /** A byte of E4M3 for each 16 values. */
  scales: Uint8Array<ArrayBuffer>;
}

const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
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
    const own = values.subarray(group * GROUP, (group + 1) * GROUP);
    const most = own.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    const code = e4m3Of(most / MOST_E2M1 / rate);
    const scale = e4m3(code) * rate;
    scales[group] = code;
    own.forEach((value, i) => {
      const at = group * GROUP + i;
      codes[at >> 1]! |= (scale === 0 ? 0 : nearest(value / scale)) << (4 * (at & 1));
    });
  }
  return { codes, scales };
}

function nearest(value: number): number {
  const magnitude = Math.abs(value);
  let code = 0;
  while (code < 7 && magnitude > (E2M1[code]! + E2M1[code + 1]!) / 2) code++;
  return code | (value < 0 && code > 0 ? 8 : 0);
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
