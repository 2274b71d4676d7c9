// Settings of SVDQuant: where they come from, which are refused, and what a file that holds such weights must agree with.

import { describe, expect, it } from 'vitest';
import {
  checkStated,
  nameOfLowRank,
  quantizerOf,
  type QuantizerOptions,
} from '../../../src/engine/image/quantizer.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';

const of = (options: Partial<QuantizerOptions>) => quantizerOf({ model: 'm', ...options });
const USUAL = { precision: 'int4', rank: 32, groupKs: 64, smoothing: 0 };

describe('settings of SVDQuant', () => {
  it('are none unless they are asked for, or a file name has them', () => {
    expect(of({})).toEqual({ settings: null, stated: {}, by: 'quantizerConfig' });
    expect(of({ enableSvdquant: true }).settings).toEqual(USUAL);
    const transformerWeightsPath = '/models/svdq-fp4_r128-flux.1-dev.safetensors';
    expect(of({ transformerWeightsPath }).settings).toEqual({
      ...USUAL,
      precision: 'nvfp4',
      rank: 128,
      groupKs: 16,
    });
    expect(of({ transformerWeightsPath, enableSvdquant: false }).settings).toBe(null);
  });

  it('come from the options before the file name, under both names', () => {
    const model = '/models/svdq-int4_r64-z-image';
    expect(of({ model, quantizationRank: 16 }).settings).toEqual({ ...USUAL, rank: 16 });
    const quantizerConfig = {
      'quantization-rank': '48',
      group_size: 128,
      smoothing: 0.5,
      act_unsigned: false,
    };
    expect(of({ enableSvdquant: true, quantizerConfig }).settings).toEqual({
      precision: 'int4',
      rank: 48,
      groupKs: 128,
      smoothing: 0.5,
    });
  });

  it.each<[Partial<QuantizerOptions>, string]>([
    [{ quantizerConfig: { precision: 'int3' } }, 'has precision "int3": give int4 or nvfp4'],
    [{ quantizerConfig: { rank: 0 } }, 'has rank 0: give an integer above 0'],
    [{ quantizerConfig: { rank: 'many' } }, 'has rank "many": give an integer above 0'],
    [{ quantizerConfig: { group_size: 48 } }, 'has group_size 48: give 32, 64, 128, or 16 for nvfp4'],
    [{ quantizerConfig: { group_size: 16 } }, 'has group_size 16: give 32, 64, 128 for int4'],
    [{ quantizerConfig: { smoothing: 2 } }, 'has smoothing 2: give a number from 0 to 1'],
    [{ quantizerConfig: { ranks: 3 } }, 'has "ranks", which is not known: its keys are precision, rank'],
    [{ quantizerConfig: { act_unsigned: true } }, 'here they are not rounded to 4 bits'],
    [{ quantizationActUnsigned: true }, 'here they are not rounded to 4 bits'],
    [{ quantizerConfig: { rank: 16 }, quantizationRank: 32 }, 'is 32, and `quantizerConfig` has rank 16'],
    [
      { enableSvdquant: true, quantizerConfig: { precision: 'nvfp4', group_size: 64 } },
      'has group_size 64, and nvfp4 has scales for 16 inputs',
    ],
  ])('%j are refused', (options, message) => {
    expect(() => of(options)).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
});

describe('a file of SVDQuant', () => {
  const entry = (name: string, dtype: TensorEntry['dtype'], shape: number[]) =>
    [name, { name, dtype, shape } as TensorEntry] as const;
  const file = new Map([entry('a.weight', 'U4_64', [128, 128]), entry('a.weight.down', 'BF16', [32, 128])]);
  const plain = new Map([entry('a.weight', 'BF16', [128, 128])]);

  it('is named by what it holds', () => {
    expect(nameOfLowRank(of({}), file)).toBe('svdq-int4_r32');
    expect(nameOfLowRank(of({}), plain)).toBe(null);
    expect(nameOfLowRank(of({ enableSvdquant: true }), plain)).toBe('svdq-int4_r32_g64_s0');
  });

  it('agrees with settings that it was made with', () => {
    expect(() => checkStated(of({ enableSvdquant: true, quantizationRank: 32 }), file, 'f')).not.toThrow();
    expect(() => checkStated(of({ quantizationPrecision: 'int4' }), file, 'f')).not.toThrow();
  });

  it.each<[Partial<QuantizerOptions>, RegExp]>([
    [{ quantizationRank: 64 }, /quantizationRank` states rank 64, and f was quantized with 32/],
    [
      { quantizationPrecision: 'nvfp4' },
      /quantizationPrecision` states precision nvfp4, and f was quantized with int4/,
    ],
    [{ quantizerConfig: { smoothing: 0.5 } }, /has group_size or smoothing, and f is quantized already/],
  ])('is refused with %j', (options, message) => {
    expect(() => checkStated(of(options), file, 'f')).toThrow(message);
  });

  it('is what settings without quantizing are for', () => {
    expect(() => checkStated(of({ quantizationRank: 64 }), plain, 'f')).toThrow(
      /f holds none of its weights/,
    );
  });
});
