// Settings of step caches: what they make of steps, and what is refused.

import { describe, expect, it } from 'vitest';
import {
  readCacheSettings,
  type ReusedModel,
} from '../../../../src/engine/image/step-cache/cache-settings.ts';
import { ReuseRun } from '../../../../src/engine/image/step-cache/reuse-run.ts';
import { TEACACHE } from '../../../../src/engine/image/step-cache/teacache.ts';

const TRANSFORMER: ReusedModel = { has: 'blocks', teacache: TEACACHE.flux };
const UNET: ReusedModel = { has: 'deep', teacache: null };

/** Steps that compute, as 1, for the changes of each. */
function computed(
  settings: Record<string, unknown>,
  changes: readonly number[],
  model = TRANSFORMER,
): string {
  const { rule } = readCacheSettings(settings, model);
  const run = new ReuseRun(rule!, changes.length);
  return changes.map((change) => (run.next(change).reuses ? 0 : 1)).join('');
}

const still = (steps: number): number[] => Array<number>(steps).fill(0.01);

describe('settings of step caches', () => {
  it.each<[name: string, settings: Record<string, unknown>, expected: string]>([
    ['DBCache computes 8 steps by default', {}, '111111110000'],
    ['warm-up', { max_warmup_steps: 2 }, '110000000000'],
    ['an interval of the warm-up', { max_warmup_steps: 6, warmup_interval: 3 }, '100100000000'],
    ['steps in a row', { max_warmup_steps: 0, max_continuous_cached_steps: 2 }, '100100100100'],
    ['steps in all', { max_warmup_steps: 0, max_cached_steps: 3 }, '100011111111'],
    ['a threshold of zero', { max_warmup_steps: 0, residual_diff_threshold: 0 }, '111111111111'],
    ['a section', { cache_config: { max_warmup_steps: 3 } }, '111000000000'],
    [
      'a mask by name',
      { steps_computation_mask: 'fast', steps_computation_policy: 'static' },
      '111010010011',
    ],
    ['a mask as a list', { steps_computation_mask: [1, 1, 0, 1, 0, 0] }, '110100111111'],
    ['a mask of bins', { compute_bins: [4, 2], cache_bins: [1, 3] }, '111101100001'],
    ['intervals', { method: 'taylorseer', cache_interval: 4 }, '111010001000'],
    ['an end of intervals', { method: 'taylorseer', disable_cache_after_step: 9 }, '111010000111'],
    ['First Block Cache', { method: 'fbcache', threshold: 0.02 }, '100000000000'],
    ['DeepCache', { method: 'deepcache', cache_interval: 5 }, '100001000010'],
    [
      'MagCache',
      { method: 'magcache', mag_ratios: [1, 1.01, 1.02, 1.2, 1, 1], threshold: 0.1, retention_ratio: 0.25 },
      '111000110001',
    ],
    ['TeaCache', { method: 'teacache', coefficients: [0, 0.1], teacache_thresh: 0.25 }, '100100100101'],
  ])('%s', (_, settings, expected) => {
    const model = settings['method'] === 'deepcache' ? UNET : TRANSFORMER;
    expect(computed({ method: 'dbcache', ...settings }, still(12), model)).toBe(expected);
  });

  it('DBCache goes by the change since the last computed step', () => {
    const settings = { max_warmup_steps: 0, residual_diff_threshold: 0.1 };
    expect(computed(settings, [0, 0.05, 0.2, 0.1, 0.11, 0.01])).toBe('101010');
  });

  it('a second transformer has settings of its own beside the shared ones', () => {
    const settings = { Fn_compute_blocks: 2, Bn_compute_blocks: 1, secondary: { Fn_compute_blocks: 4 } };
    const { rule, second } = readCacheSettings(settings, TRANSFORMER);
    expect([rule!.firstBlocks, second!.firstBlocks, second!.lastBlocks]).toEqual([2, 4, 1]);
  });

  it('none are a run without a cache', () => {
    expect(readCacheSettings({}, TRANSFORMER)).toEqual({ rule: null, guidance: null });
    expect(readCacheSettings({ guidance_interval: [0, 0.5] }, TRANSFORMER)).toEqual({
      rule: null,
      guidance: [0, 0.5],
    });
  });

  it.each<[settings: Record<string, unknown>, message: RegExp, model?: ReusedModel]>([
    [{ method: 'cache' }, /method "cache": name one of dbcache, first_block/],
    [{ Fn: 1 }, /"Fn"; with its other keys it may have .*Fn_compute_blocks/],
    [{ Fn_compute_blocks: 0 }, /Fn_compute_blocks 0: give a whole number from 1 on/],
    [{ residual_diff_threshold: '0.1' }, /residual_diff_threshold "0.1": give a number from 0 on/],
    [{ steps_computation_mask: 'slowest' }, /slow, medium, fast, ultra, or a list/],
    [{ compute_bins: [1] }, /give cache_bins as well/],
    [{ cache_config: 3 }, /cache_config 3: it is a section/],
    [{ guidance_interval: [0.5, 0.2] }, /two shares of the steps/],
    [{ guidance_interval: [0, 0.5] }, /a UNet computes both texts in one pass/, UNET],
    [{ method: 'magcache' }, /give mag_ratios/],
    [{ method: 'teacache' }, /no coefficients are published/, { has: 'blocks', teacache: null }],
    [{ method: 'teacache', use_ret_steps: false }, /use_ret_steps false/],
    [{ method: 'dbcache' }, /the model is a UNet: choose deepcache/, UNET],
    [{ method: 'deepcache' }, /the model is a transformer/],
    [{ method: 'dbcache', secondary: { method: 'taylorseer', use_lite_mode: true } }, /both transformers/],
  ])('%j is refused', (settings, message, model = TRANSFORMER) => {
    expect(() => readCacheSettings(settings, model)).toThrow(message);
  });

  it('divided differences continue what was kept, as soon as there are enough', () => {
    const { rule } = readCacheSettings(
      { method: 'taylorseer', cache_interval: 3, max_order: 2 },
      TRANSFORMER,
    );
    const run = new ReuseRun(rule!, 9);
    const scalars = Array.from({ length: 6 }, () => run.next(null).scalars);
    expect(scalars).toEqual([
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [0, 1, 1, 0.5],
      [0.5, 0, 0, 0],
      [0, 1, 1, 0.5],
    ]);
  });
});
