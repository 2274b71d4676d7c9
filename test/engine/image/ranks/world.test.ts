// Degrees of parallelism: which are filled in, in the order of SGLang, and which are refused.

import { describe, expect, it } from 'vitest';
import type { RankRules } from '../../../../src/engine/image/ranks/rank-rules.ts';
import { checkTokens, worldOf, type Degrees, type World } from '../../../../src/engine/image/ranks/world.ts';

const ALONE: World = { ranks: 1, dp: 1, cfg: 1, sp: 1, kvGather: 1, ulysses: 1, ring: 1, tp: 1 };

describe('degrees that are left out', () => {
  it.each<[string, Degrees, boolean, Partial<World>]>([
    ['one GPU', {}, true, {}],
    ['neutral values', { numGpus: 1, tpSize: 1, spDegree: 1, dpSize: 1, dpDegree: 1 }, true, {}],
    ['two GPUs of a guided model', { numGpus: 2 }, true, { ranks: 2, cfg: 2 }],
    ['two GPUs of another model', { numGpus: 2 }, false, { ranks: 2, sp: 2, kvGather: 2 }],
    ['four GPUs of a guided model', { numGpus: 4 }, true, { ranks: 4, cfg: 2, sp: 2, kvGather: 2 }],
    [
      'eight GPUs without guidance passes',
      { numGpus: 8, enableCfgParallel: false },
      true,
      { ranks: 8, sp: 8, ulysses: 8 },
    ],
    ['three GPUs', { numGpus: 3 }, true, { ranks: 3, sp: 3, ulysses: 3 }],
    ['replicas', { numGpus: 2, dpSize: 2 }, true, { ranks: 2, dp: 2 }],
    ['replicas of two GPUs', { numGpus: 4, dpSize: 2, dpDegree: 2 }, true, { ranks: 4, dp: 2, cfg: 2 }],
    [
      'a size that decides over the switch',
      { numGpus: 2, enableCfgParallel: true, cfgParallelSize: 1, tpSize: 2 },
      true,
      { ranks: 2, tp: 2 },
    ],
    [
      'a sequence degree, which leaves guidance whole',
      { numGpus: 2, ulyssesDegree: 2 },
      true,
      { ranks: 2, sp: 2, ulysses: 2 },
    ],
    [
      'ring and ulysses',
      { numGpus: 4, spDegree: 4, ringDegree: 2, ulyssesDegree: 2 },
      false,
      { ranks: 4, sp: 4, ring: 2, ulysses: 2 },
    ],
  ])('are filled in for %s', (_, given, isGuided, wanted) => {
    expect(worldOf(given, isGuided)).toEqual({ ...ALONE, ...wanted });
  });
});

describe('degrees that do not fit', () => {
  it.each<[Degrees, param: string, message: RegExp]>([
    [
      { numGpus: 4, spDegree: 4, kvGatherDegree: 2 },
      'kvGatherDegree',
      /`kvGatherDegree` 2 is not `spDegree` 4/,
    ],
    [
      { numGpus: 2, kvGatherDegree: 2, ulyssesDegree: 2 },
      'kvGatherDegree',
      /`kvGatherDegree` 2 .* `ulyssesDegree` 2 and `ringDegree` 1/,
    ],
    [{ numGpus: 3, spDegree: 2 }, 'spDegree', /`numGpus` 3 is not divisible by `spDegree` 2/],
    [{ spDegree: 2 }, 'spDegree', /`numGpus` 1 is not divisible by `spDegree` 2/],
    [{ numGpus: 3, dpSize: 2 }, 'dpSize', /`numGpus` 3 is not divisible by `dpSize` 2/],
    [{ dpSize: 2 }, 'dpSize', /`numGpus` 1 is not divisible by `dpSize` 2: give `numGpus` 2/],
    [
      { numGpus: 4, dpSize: 2, dpDegree: 3 },
      'dpDegree',
      /`dpSize` 2 times `dpDegree` 3 is 6, and `numGpus` 4/,
    ],
    [{ enableCfgParallel: true }, 'enableCfgParallel', /`enableCfgParallel` takes 2 GPUs, and `numGpus` 1/],
    [
      { numGpus: 3, cfgParallelSize: 2 },
      'numGpus',
      /`numGpus` 3 is not divisible by 2, .* `cfgParallelSize` 2/,
    ],
    [{ numGpus: 3, tpSize: 2 }, 'numGpus', /`numGpus` 3 is not divisible by 2, .* `tpSize` 2/],
    [
      { numGpus: 4, spDegree: 4, ringDegree: 2 },
      'spDegree',
      /`spDegree` 4 is not the product of `ringDegree` 2 and `ulyssesDegree` 1/,
    ],
    [{ numGpus: 4, spDegree: 2, enableCfgParallel: false }, 'numGpus', /`numGpus` 4 is not 2, the product/],
  ])('are refused with both numbers: %j', (given, param, message) => {
    expect(() => worldOf(given, true)).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        param,
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });
});

it.each<[Degrees, RankRules['tokens'], message: RegExp]>([
  [
    { numGpus: 2 },
    undefined,
    /`numGpus` 2 would divide tokens over 2 GPUs, which a model does not allow, because its convolutions/,
  ],
  [{ numGpus: 2 }, { because: 'it is round' }, /does not allow, because it is round: choose `dpSize`/],
  [
    { numGpus: 3 },
    { heads: 4 },
    /^a model has 4 heads of keys, which are not divisible by `ulyssesDegree` 3: .* `kvGatherDegree` 3/,
  ],
  [
    { numGpus: 4, tpSize: 2, ulyssesDegree: 2 },
    { heads: 2 },
    /which are not divisible by the product of `tpSize` 2 and `ulyssesDegree` 2/,
  ],
])('a division that is not possible is refused: %j', (given, tokens, message) => {
  expect(() => checkTokens(worldOf(given, false), tokens, 'a model')).toThrow(message);
});

it('divisions that are possible pass', () => {
  checkTokens(worldOf({ numGpus: 4, dpSize: 2 }, true), undefined, '');
  checkTokens(worldOf({ numGpus: 4, kvGatherDegree: 4 }, false), { heads: 3 }, '');
  checkTokens(worldOf({ numGpus: 6, ulyssesDegree: 3, ringDegree: 2 }, false), { heads: 3 }, '');
  checkTokens(worldOf({ numGpus: 4, tpSize: 2, ulyssesDegree: 2 }, false), { heads: 2, isWhole: true }, '');
});
