import { describe, expect, it } from 'vitest';
import { COUNTS, REALS, type CountKey, type RealKey } from '../../src/models/config-bounds.ts';
import { readConfig } from '../../src/models/config-values.ts';

const refusal = (key: string, value: unknown, read: 'count' | 'real'): unknown => {
  const config = readConfig('config.json', { [key]: value });
  try {
    return read === 'count' ? config.count(key as CountKey) : config.real(key as RealKey);
  } catch (error) {
    return error;
  }
};

describe('every number of a config', () => {
  const rows = [
    ...Object.entries(COUNTS).map(([key, bounds]) => ({ key, bounds, read: 'count' as const })),
    ...Object.entries(REALS).map(([key, bounds]) => ({ key, bounds, read: 'real' as const })),
  ];

  it.each(rows)(
    '$key is taken at its bounds and refused beyond them',
    ({ key, bounds: [least, most], read }) => {
      expect(least).toBeLessThan(most);
      expect(refusal(key, least, read)).toBe(least);
      expect(refusal(key, most, read)).toBe(most);
      const step = read === 'count' ? 1 : Math.max(Math.abs(least) / 2, 1e-18);
      const outside = [least - step, most * 2, NaN, Infinity, -Infinity].filter(
        (value) => !(value >= least && value <= most),
      );
      for (const value of [...outside, '1', true, [1], {}]) {
        expect(refusal(key, value, read)).toMatchObject({ code: 'bad_checkpoint', param: key });
      }
    },
  );

  it('is named with its value and what is needed', () => {
    expect(refusal('hidden_size', 1e9, 'count')).toMatchObject({
      message: 'config.json: hidden_size is 1000000000, an integer from 1 to 65536 is needed',
    });
    expect(refusal('num_hidden_layers', 2.5, 'count')).toMatchObject({
      message: 'config.json: num_hidden_layers is 2.5, an integer from 1 to 1024 is needed',
    });
    expect(refusal('rms_norm_eps', NaN, 'real')).toMatchObject({
      message: 'config.json: rms_norm_eps is NaN, a number from 1e-16 to 0.01 is needed',
    });
    expect(refusal('rope_theta', -Infinity, 'real')).toMatchObject({
      message: 'config.json: rope_theta is -Infinity, a number from 2 to 1000000000000 is needed',
    });
    expect(refusal('vocab_size', undefined, 'count')).toMatchObject({
      message: expect.stringContaining('vocab_size is missing'),
    });
  });

  it('is held to them in lists too, and a long value is cut', () => {
    const long = readConfig('config.json', { block_out_channels: Array(5000).fill(64) });
    expect(() => long.list('block_out_channels')).toThrow(/is \[64(,64)+,?6?…, a list of integers/);
    const config = readConfig('c', { block_out_channels: [64, 1e6], latents_mean: [0, Infinity] });
    expect(() => config.list('block_out_channels')).toThrow(
      'is [64,1000000], a list of integers from 1 to 16384',
    );
    expect(() => config.reals('latents_mean', 2)).toThrow('is [0,"Infinity"], a list of 2 numbers');
    expect(() => config.each('block_out_channels', 2)).toThrow('or 2 of them, is needed');
  });

  it('is read from the config itself, never from its prototype', () => {
    const inherited = Object.create({ hidden_size: 8, tie: true }) as Record<string, unknown>;
    const config = readConfig('c', inherited);
    expect(() => config.count('hidden_size')).toThrow('hidden_size is missing');
    expect(config.flag('tie', false)).toBe(false);
  });
});
