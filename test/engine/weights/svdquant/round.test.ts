// Rounding to 4 bits: values that codes hold come back, and others to the nearest.

import { describe, expect, it } from 'vitest';
import { factorOf, roundToFloats, roundToIntegers } from '../../../../src/engine/weights/svdquant/round.ts';
import { bfloatValue } from '../../../../src/files/tensors/half-values.ts';
import { Random } from '../../../kernels/compute.ts';

const codesOf = (bytes: Uint8Array): number[] => [...bytes].flatMap((byte) => [byte & 15, byte >> 4]);

describe('integers', () => {
  it('hold what 16 levels are, whichever sign the largest has', () => {
    const values = Float32Array.from({ length: 64 }, (_, i) => ((i % 16) - 8) * (i < 32 ? 0.25 : -0.5));
    const { codes, scales } = roundToIntegers(values, 32);
    expect([...scales]).toEqual([0.25, -0.5]);
    expect(codesOf(codes).map((code, i) => (code - 8) * scales[i >> 5]!)).toEqual([...values]);
  });

  it('are nearer than those of the largest value alone, and zeros where all are', () => {
    const values = new Random(5).floats(256);
    const { codes, scales } = roundToIntegers(values, 64);
    const error = (found: number[]): number =>
      found.reduce((sum, value, i) => sum + (value - values[i]!) ** 2, 0);
    const usual = [...values].map((value, i) => {
      const group = values.subarray(i - (i % 64), i - (i % 64) + 64);
      const scale = group.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0) / -8;
      return scale * Math.max(-8, Math.min(7, Math.round(value / scale)));
    });
    expect(error(codesOf(codes).map((code, i) => (code - 8) * scales[i >> 6]!))).toBeLessThan(error(usual));
    const zeros = roundToIntegers(new Float32Array(32), 32);
    expect([...zeros.scales, ...codesOf(zeros.codes)]).toEqual([0, ...Array<number>(32).fill(8)]);
  });
});

describe('floats of E2M1', () => {
  const LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
  const e4m3 = (code: number): number =>
    code < 8 ? code * 2 ** -9 : (1 + (code & 7) / 8) * 2 ** ((code >> 3) - 7);

  it('hold what their levels are', () => {
    const values = Float32Array.from({ length: 32 }, (_, i) => {
      const scale = i < 16 ? 448 : 1.5;
      return LEVELS[i % 8]! * (i % 16 < 8 ? scale : -scale);
    });
    const factor = factorOf(values);
    expect(bfloatValue(factor)).toBe(1);
    const { codes, scales } = roundToFloats(values, factor);
    expect([...scales].map(e4m3)).toEqual([448, 1.5]);
    const found = codesOf(codes).map((code, i) => {
      const level = LEVELS[code & 7]! * e4m3(scales[i >> 4]!);
      return code & 8 ? -level : level;
    });
    expect(found.map((value) => value || 0)).toEqual([...values].map((value) => value || 0));
  });

  it('of zeros are zeros', () => {
    const { codes, scales } = roundToFloats(new Float32Array(16), factorOf(new Float32Array(16)));
    expect([...codes, ...scales].every((byte) => byte === 0)).toBe(true);
  });
});
