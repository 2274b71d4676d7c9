import { expect, it } from 'vitest';
import { readDebertaConfig } from '../../../../src/models/text/deberta/deberta-config.ts';

const V3 = {
  hidden_size: 768,
  num_attention_heads: 12,
  relative_attention: true,
  position_biased_input: false,
  pos_att_type: 'p2c|c2p',
  position_buckets: 256,
  max_relative_positions: -1,
};

it('DeBERTa v3 has places by buckets', () =>
  expect(readDebertaConfig(V3, 'DebertaV2Model').places).toEqual({ span: 256, near: 128, far: 511 }));

it.each([
  [{ conv_kernel_size: 4 }, /conv_kernel_size 4 is not built/],
  [{ conv_kernel_size: 3, conv_groups: 2 }, /conv_groups 2 is not built/],
  [{ position_biased_input: null }, /position_biased_input is missing/],
  [{ relative_attention: null }, /relative_attention is missing/],
  [{ pos_att_type: ['c2p'] }, /pos_att_type \["c2p"\] is not built/],
  [{ position_buckets: 2 }, /position_buckets is 2 for distances up to 512/],
  [{ num_attention_heads: 3 }, /num_attention_heads 3 over 768 columns are not built/],
])('DeBERTa with %j is refused', (more, message) =>
  expect(() => readDebertaConfig({ ...V3, ...more }, 'DebertaV2Model')).toThrow(message),
);
