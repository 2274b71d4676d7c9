// Rotary frequencies against transformers for every rope type, and both spellings of their settings.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inverseFrequencies, ropeSets } from '../../../../src/models/text/blocks/rope.ts';
import { readConfig } from '../../../../src/models/config-values.ts';
import { readRope } from '../../../../src/models/text/blocks/rope-config.ts';

interface RopeCase {
  name: string;
  config: Record<string, unknown> & { head_dim: number; rope_theta: number; rope_scaling: object | null };
  /** Sequence length on which dynamic and longrope depend. */
  length: number;
  attention_scaling: number;
  inv_freq: number[];
  angles?: Record<string, { cos: number[]; sin: number[] }>;
}

const { cases } = JSON.parse(readFileSync(new URL('../../../golden/rope.json', import.meta.url), 'utf8')) as {
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
])('RoPE settings as $spelling', ({ spell }) => {
  it.each(cases)('$name', ({ config, length, attention_scaling, inv_freq }) => {
    const rope = readRope(readConfig('config.json', spell(config)), config.head_dim);
    const frequencies = inverseFrequencies(rope, length);
    expect(frequencies.length).toBe(config.head_dim / 2);
    inv_freq.forEach((wanted, i) => expect(Math.abs(frequencies[i]! / wanted - 1)).toBeLessThan(1e-6));
    expect(rope.attentionFactor).toBeCloseTo(attention_scaling, 12);
  });
});

describe('sets of RoPE frequencies', () => {
  it.each(cases.filter((of) => /dynamic|longrope/.test(of.name)))(
    '$name: one for each length that matters',
    ({ config }) => {
      const rope = readRope(readConfig('config.json', config), config.head_dim);
      const words = new Uint32Array(rope.dims * 4);
      const sets = ropeSets([rope], words);
      const { originalContext } = rope;
      const lengths = [7, originalContext, originalContext + 1, 2 * originalContext, 1];
      const found = lengths.map((length) => sets.of(length));
      expect(found.slice(0, 2)).toEqual([0, 0]);
      expect(found[2]).toBe(1);
      expect(found[4]).toBe(0);
      expect(sets.count).toBe(found[3]! + 1);
      lengths.forEach((length, i) => {
        inverseFrequencies(rope, length).forEach((frequency, k) => {
          const at = found[i]! * rope.dims + 2 * k;
          const turns = words[at + 1]! / 2 ** 32 + words[at]! / 2 ** 64;
          expect(Math.abs(turns * 2 * Math.PI - frequency)).toBeLessThanOrEqual(frequency * 1e-15 + 2 ** -61);
        });
      });
      expect([sets.takeChanged(), sets.takeChanged()]).toEqual([sets.count, 0]);
      sets.clear();
      expect([sets.of(1), sets.takeChanged()]).toEqual([0, 0]);
      sets.clear();
      expect(sets.of(2 * originalContext)).toBe(0);
      expect(sets.takeChanged()).toBe(1);
    },
  );
});
