// SGLang's variables of step caches.

import { describe, expect, it } from 'vitest';
import { cacheFromEnvironment } from '../../../src/cli/options/cache-environment.ts';

const read = (variables: Record<string, string>) =>
  cacheFromEnvironment(
    Object.fromEntries(Object.entries(variables).map(([name, value]) => [`SVC_CACHE_DIT_${name}`, value])),
  );

describe('step caches from the environment', () => {
  it('are off unless they are enabled', () => {
    expect(read({ FN: '2' })).toBeNull();
    expect(read({ ENABLED: '0', FN: '2' })).toBeNull();
  });

  it("have SGLang's values where a variable is not set", () => {
    expect(read({ ENABLED: '1' })).toEqual({
      method: 'dbcache',
      Fn_compute_blocks: 1,
      Bn_compute_blocks: 0,
      max_warmup_steps: 4,
      residual_diff_threshold: 0.24,
      max_continuous_cached_steps: 3,
    });
  });

  it('take each variable, and those of a second transformer', () => {
    const found = read({
      ...{ ENABLED: 'true', FN: '2', TAYLORSEER: '1', TS_ORDER: '2', SCM_PRESET: 'none' },
      ...{ SCM_COMPUTE_BINS: '8,3', SCM_CACHE_BINS: '1,2', SCM_POLICY: 'static', SECONDARY_RDT: '0.1' },
    });
    expect(found).toMatchObject({
      ...{ Fn_compute_blocks: 2, enable_taylorseer: true, taylorseer_order: 2 },
      ...{ compute_bins: [8, 3], cache_bins: [1, 2], steps_computation_policy: 'static' },
      secondary: { residual_diff_threshold: 0.1 },
    });
    expect(found).not.toHaveProperty('steps_computation_mask');
  });

  it('name a variable that is no value of its kind', () => {
    expect(() => read({ ENABLED: '1', FN: 'two' })).toThrow(
      'SVC_CACHE_DIT_FN is "two": give a number, or unset it',
    );
  });
});
