// Resampling: what passes the filter, and that its result and its cost do not depend on how a sound arrives.

import { describe, expect, it, vi } from 'vitest';
import { Resampler } from '../../../src/files/media/resample-sound.ts';

/** The samples at another rate, pushed in pieces. */
function resampled(samples: Float32Array, from: number, to: number, step = samples.length): Float32Array {
  const resampler = new Resampler(from, to);
  const made: Float32Array[] = [];
  // Each piece lies where the one before it was.
  const piece = new Float32Array(step);
  for (let first = 0; first < samples.length; first += step) {
    const some = samples.subarray(first, first + step);
    piece.set(some);
    made.push(...resampler.push(piece.subarray(0, some.length)));
  }
  made.push(...resampler.end());
  return Float32Array.from(made.flatMap((some) => [...some]));
}

describe('resampling a sound', () => {
  const tone = (rate: number, hertz: number) =>
    Float32Array.from({ length: rate / 2 }, (_, i) => Math.sin((2 * Math.PI * hertz * i) / rate));
  const level = (samples: Float32Array) => {
    const middle = samples.subarray(samples.length / 4, (3 * samples.length) / 4);
    return 10 * Math.log10(2 * (middle.reduce((sum, value) => sum + value ** 2, 0) / middle.length) + 1e-20);
  };
  const run = (from: number, to: number, hertz: number) => resampled(tone(from, hertz), from, to);

  it.each([
    [48_000, 16_000],
    [44_100, 16_000],
    [44_099, 16_000],
    [8_000, 16_000],
  ])('%d to %d passes what both rates hold and damps the rest by 60 dB at least', (from, to) => {
    const half = Math.min(from, to) / 2;
    for (const share of [0.01, 0.4, 0.9])
      expect(Math.abs(level(run(from, to, share * half)))).toBeLessThan(0.01);
    if (from > to)
      for (const share of [1.005, 1.3, 2]) expect(level(run(from, to, share * half))).toBeLessThan(-100);
  });

  it.each([
    [44_100, 16_000, 4410],
    [44_099, 16_000, 4410],
    [383_999, 16_000, 20_000],
    [8_000, 24_000, 4000],
    [1_000, 16_000, 7],
  ])('%d to %d does not depend on the pieces of %d samples', (from, to, length) => {
    const samples = Float32Array.from({ length }, (_, i) => Math.sin(i * i));
    const whole = resampled(samples, from, to);
    expect(whole.length).toBe(Math.ceil((length * to) / from));
    for (const step of [1, 16, 1021]) expect(resampled(samples, from, to, step)).toEqual(whole);
  });

  it('computes the weights that a short sound needs, and hands over after a bounded number of multiplications', () => {
    // Each weight takes one square root; 2,049 rows of 4,536 would be all of them.
    const weights = vi.spyOn(Math, 'sqrt');
    let [length, most, before] = [0, 0, 0];
    try {
      const resampler = new Resampler(383_999, 16_000);
      for (const part of [resampler.push(new Float32Array(5000)), resampler.end()])
        for (const some of part) {
          length += some.length;
          most = Math.max(most, weights.mock.calls.length - before);
          before = weights.mock.calls.length;
        }
    } finally {
      weights.mockRestore();
    }
    expect(length).toBe(209);
    expect(before).toBeLessThan(209 * 4536);
    expect(most).toBeLessThan(2 ** 16);
    const exact = new Resampler(384_000, 16_000);
    for (const some of exact.push(new Float32Array(40_000))) expect(some.length * 4536).toBeLessThan(2 ** 21);
  });
});
