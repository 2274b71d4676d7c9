// Headers of tensors that a plan derives from a configuration.

import { expect, it } from 'vitest';
import { requestedHeaders, statedDtype, withMxfp4 } from '../../../src/engine/plan/headers.ts';
import type { WeightTable } from '../../../src/models/weights.ts';

it('weights whose scales an index lists are FP8, the others of the type that config.json states', () => {
  const page = (weights: WeightTable): void => {
    weights.matrix('a.weight', 4, 128);
    weights.matrix('b.weight', 4, 128);
  };
  const headers = requestedHeaders(page, ['a.weight', 'a.weight_scale_inv', 'b.weight'], 'BF16');
  expect(headers.get('a.weight')).toMatchObject({ dtype: 'F8_E4M3', bytes: 4 * 128 });
  expect(headers.get('b.weight')).toMatchObject({ dtype: 'BF16', bytes: 2 * 4 * 128 });
});

it('a type that config.json states is taken, a missing one is f32, and any other is refused by its key', () => {
  expect([statedDtype({}), statedDtype({ dtype: 'float16' })]).toEqual(['F32', 'F16']);
  expect(statedDtype({ torch_dtype: 'torch.bfloat16' })).toBe('BF16');
  expect(() => statedDtype({ torch_dtype: 'float64' })).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      param: 'torch_dtype',
      message: expect.stringMatching(/torch_dtype "float64" is not built; choose .*bfloat16/) as string,
    }) as Error,
  );
});

it('experts are codes of MXFP4 where config.json says so, in shapes of which an index tells nothing', () => {
  const page = (weights: WeightTable): void => {
    weights.experts(['e.0.weight', 'e.1.weight'], 4, 64);
    weights.matrix('a.weight', 4, 64);
  };
  const headers = requestedHeaders(page, null, 'BF16');
  expect(withMxfp4(page, headers, {})).toEqual(headers);
  const found = withMxfp4(page, headers, { quantization_config: { quant_method: 'mxfp4' } });
  expect(found.get('e.1.weight')).toEqual({ name: 'e.1.weight', dtype: 'F4', shape: [4, 64], bytes: 128 });
  expect(found.get('e.1.weight_scale')).toMatchObject({ dtype: 'F8_E8M0', shape: [4, 2], bytes: 8 });
  expect(found.get('a.weight')).toMatchObject({ dtype: 'BF16' });
});
