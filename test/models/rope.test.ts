// Rotary frequencies against transformers for every rope type, and both spellings of their settings.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inverseFrequencies, ropeRows } from '../../src/models/rope.ts';
import { readRope } from '../../src/models/rope-config.ts';

interface RopeCase {
  name: string;
  config: Record<string, unknown> & { head_dim: number; rope_theta: number; rope_scaling: object | null };
  /** Sequence length that dynamic and longrope go by. */
  length: number;
  attention_scaling: number;
  inv_freq: number[];
  angles?: Record<string, { cos: number[]; sin: number[] }>;
}

const { cases } = JSON.parse(readFileSync(new URL('../golden/rope.json', import.meta.url), 'utf8')) as {
  cases: RopeCase[];
};

/** The spelling of transformers 5. */
function newSpelling({ rope_scaling, rope_theta, ...config }: RopeCase['config']): Record<string, unknown> {
  const { type = 'default', ...scaling } = (rope_scaling ?? {}) as Record<string, unknown>;
  return { ...config, rope_parameters: { rope_type: type, ...scaling, rope_theta } };
}

describe.each([
  { spelling: 'rope_theta and rope_scaling', spell: (config: RopeCase['config']) => config },
  { spelling: 'rope_parameters', spell: newSpelling },
])('settings as $spelling', ({ spell }) => {
  it.each(cases)('$name', ({ config, length, attention_scaling, inv_freq }) => {
    const rope = readRope(spell(config), config.head_dim);
    const frequencies = inverseFrequencies(rope, length);
    expect(frequencies.length).toBe(config.head_dim / 2);
    inv_freq.forEach((wanted, i) => expect(Math.abs(frequencies[i]! / wanted - 1)).toBeLessThan(1e-6));
    expect(rope.attentionFactor).toBeCloseTo(attention_scaling, 12);
  });
});

describe('cos and sin of a row', () => {
  const withAngles = cases.filter((of) => of.angles);
  it.each(withAngles)('$name', ({ config, length, angles }) => {
    const row = ropeRows(readRope(config, config.head_dim));
    const out = new Float32Array(config.head_dim);
    for (const [position, { cos, sin }] of Object.entries(angles!)) {
      row(Number(position), length, out);
      // transformers multiplies in f32: the angle is off by its rounding, which grows with the position.
      const tolerance = 1e-6 + Number(position) * 2 ** -24;
      cos.forEach((wanted, i) => {
        expect(Math.abs(out[2 * i]! - wanted)).toBeLessThan(tolerance);
        expect(Math.abs(out[2 * i + 1]! - sin[i]!)).toBeLessThan(tolerance);
      });
    }
    expect(Object.keys(angles!).length).toBeGreaterThan(0);
  });

  it.each(cases.filter((of) => /dynamic|longrope/.test(of.name)))(
    '$name: frequencies follow the length asked for, back and forth',
    ({ config }) => {
      const rope = readRope(config, config.head_dim);
      const row = ropeRows(rope);
      const out = new Float32Array(rope.dims);
      const { originalContext } = rope;
      for (const length of [
        7,
        originalContext,
        originalContext + 1,
        2 * originalContext,
        originalContext,
        1,
      ]) {
        row(5, length, out);
        const wanted = Array.from(inverseFrequencies(rope, length)).flatMap((f) => [
          Math.fround(Math.cos(5 * f) * rope.attentionFactor),
          Math.fround(Math.sin(5 * f) * rope.attentionFactor),
        ]);
        expect(Array.from(out)).toEqual(wanted);
      }
    },
  );
});

describe('settings it cannot follow', () => {
  it('are named, with what is known', () => {
    expect(() => readRope({ rope_scaling: { rope_type: 'ntk-by-parts' } }, 64)).toThrow(
      /rope type "ntk-by-parts" is unknown; known are default, linear, dynamic, yarn, llama3, longrope/,
    );
    expect(() => readRope({ partial_rotary_factor: 0.5 }, 64)).toThrow(/partial_rotary_factor/);
    expect(() => readRope({ rope_parameters: { partial_rotary_factor: 0.5 } }, 64)).toThrow(
      /partial_rotary_factor/,
    );
  });

  it('longrope wants a factor for each frequency', () => {
    const scaling = { type: 'longrope', short_factor: Array(32).fill(1), long_factor: Array(31).fill(1) };
    expect(() => readRope({ rope_scaling: scaling }, 64)).toThrow(
      /longrope needs long_factor with 32 numbers/,
    );
  });
});
