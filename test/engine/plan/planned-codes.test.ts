// Headers of bitsandbytes' weights that a plan derives from a configuration and an index.

import { expect, it } from 'vitest';
import { requestedHeaders } from '../../../src/engine/plan/headers.ts';
import { withBitsAndBytes } from '../../../src/engine/plan/planned-codes.ts';
import { quantizedBy } from '../../../src/files/coded/quantized.ts';
import type { WeightTable } from '../../../src/models/weights.ts';

function page(weights: WeightTable): void {
  weights.embedding('embed.weight', 32, 64);
  weights.vector('norm.weight', 64);
  weights.matrix('a.weight', 32, 64);
  weights.matrix('b.weight', 32, 160);
  weights.matrix('lm_head.weight', 32, 64);
}

function dtypes(settings: Record<string, unknown>, listed: readonly string[] | null): Record<string, string> {
  const declared = quantizedBy(
    { quantization_config: { quant_method: 'bitsandbytes', ...settings } },
    'config.json',
  );
  const headers = withBitsAndBytes(page, requestedHeaders(page, listed, 'BF16'), declared);
  return Object.fromEntries([...headers].map(([name, { dtype }]) => [name, dtype]));
}

const PLAIN = { 'embed.weight': 'BF16', 'norm.weight': 'BF16', 'lm_head.weight': 'BF16' };
const NAMES = [...Object.keys(PLAIN), 'a.weight', 'b.weight'];

it('a checkpoint without an index has codes in all matrices but the head', () => {
  const four = { load_in_4bit: true, bnb_4bit_quant_type: 'nf4' };
  expect(dtypes(four, null)).toEqual({ ...PLAIN, 'a.weight': 'NF4_64', 'b.weight': 'NF4_32' });
  expect(dtypes({ load_in_4bit: true }, null)).toMatchObject({ 'a.weight': 'FP4_64' });
  expect(dtypes({ load_in_8bit: true }, null)).toMatchObject({ 'a.weight': 'I8_32' });
});

it('an index lists which matrices are codes, and its names of scales are no weights', () => {
  const parts = ['absmax', 'nested_absmax', 'nested_quant_map', 'quant_map', 'quant_state.bitsandbytes__nf4'];
  const listed = [...NAMES, ...parts.map((part) => `a.weight.${part}`)];
  expect(dtypes({ load_in_4bit: true }, listed)).toEqual({
    ...PLAIN,
    'a.weight': 'NF4_64',
    'b.weight': 'BF16',
  });
  const bytes = [...NAMES, 'b.SCB', 'b.weight_format'];
  expect(dtypes({ load_in_8bit: true }, bytes)).toEqual({
    ...PLAIN,
    'a.weight': 'BF16',
    'b.weight': 'I8_32',
  });
});

it('methods of other quantizations are left as they are', () => {
  expect(dtypes({ quant_method: 'fp8' }, null)).toMatchObject({ 'a.weight': 'BF16' });
});
