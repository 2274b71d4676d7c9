// Tensors of compressed-tensors that do not fit one another are refused with the tensor and what is wrong.

import { expect, it } from 'vitest';
import { isRead } from '../../../src/files/coded/methods.ts';
import { fold, refusedWith, type Shapes } from './fold-shapes.ts';

const PACKED: Shapes = {
  weight_packed: ['I32', [96, 32]],
  weight_scale: ['BF16', [96, 4]],
  weight_shape: ['I64', [2]],
};
const group = { targets: ['Linear'], weights: { type: 'int', num_bits: 4, group_size: 64 } };
const packed = {
  quant_method: 'compressed-tensors',
  format: 'pack-quantized',
  config_groups: { group_0: group },
};

it('the group of config_groups that names a module comes before the one of its class', () => {
  expect(fold(PACKED, packed)).toMatchObject({ dtype: 'U4_64', shape: [96, 256], coded: { zeros: 8 } });
  const eight = { targets: ['re:w$'], weights: { type: 'int', num_bits: 8 } };
  const both = { ...packed, config_groups: { group_0: group, group_1: eight } };
  const channel: Shapes = { ...PACKED, weight_scale: ['BF16', [96, 1]] };
  expect(fold(channel, both)).toMatchObject({ dtype: 'U8_128', shape: [96, 128], coded: { zeros: 128 } });
});

it('a target of config_groups that is no expression is refused', () => {
  const other = { targets: ['re:(?P<layer>w'], weights: { type: 'int', num_bits: 4, group_size: 64 } };
  const settings = { ...packed, config_groups: { group_0: other } };
  refusedWith('unsupported', 'config_groups has the target "re:(?P<layer>w"', () => fold(PACKED, settings));
});

const cases: [Shapes, string][] = [
  [
    { weight_scale: ['BF16', [96, 3]] },
    'w.weight_scale has the shape [96, 3], and 96 outputs of 256 inputs in groups of 64 make [96, 4]',
  ],
  [{ weight_scale: ['BF16', [64, 4]] }, 'w.weight_scale has the shape [64, 4]'],
  [
    { weight_zero_point: ['I32', [96, 4]] },
    'w.weight_zero_point has the shape [96, 4], and 96 outputs in 4 groups make [12, 4]',
  ],
  [{ weight_zero_point: ['I8', [12, 4]] }, 'w.weight_zero_point has the shape [12, 4]'],
  [{ weight_g_idx: ['I32', [128]] }, 'w.weight_g_idx has the shape [128]'],
  [{ weight_packed: ['I8', [96, 32]] }, 'w.weight_packed is I8'],
];
it.each(cases)('a compressed-tensors configuration of %j is damaged', (change, message) => {
  refusedWith('bad_checkpoint', message, () => fold({ ...PACKED, ...change }, packed));
});

it('signed bytes have one scale a row, or one in all', () => {
  const bytes: Shapes = { weight: ['I8', [96, 256]], weight_scale: ['BF16', [96, 1]] };
  const config_groups = { group_0: { targets: ['Linear'], weights: { type: 'int', num_bits: 8 } } };
  const settings = { quant_method: 'compressed-tensors', format: 'int-quantized', config_groups };
  expect(fold(bytes, settings)).toMatchObject({ dtype: 'U8_128', coded: { signed: true, zeros: 128 } });
  expect(fold({ ...bytes, weight_scale: ['F32', [1]] }, settings)).toMatchObject({ dtype: 'U8_128' });
  const groups: Shapes = { ...bytes, weight_scale: ['BF16', [96, 4]] };
  refusedWith('bad_checkpoint', 'w.weight_scale has the shape [96, 4]', () => fold(groups, settings));
});

it.each([
  ['pack-quantized', { type: 'int', num_bits: 8 }, true],
  ['pack-quantized', { type: 'int', num_bits: 3 }, false],
  ['int-quantized', { type: 'int', num_bits: 8 }, true],
  ['int-quantized', { type: 'int', num_bits: 4 }, false],
  ['float-quantized', { type: 'float', num_bits: 8 }, true],
  ['nvfp4-pack-quantized', { type: 'float', num_bits: 4, group_size: 16 }, true],
  ['nvfp4-pack-quantized', { type: 'float', num_bits: 4, group_size: 32 }, false],
  ['marlin-24', { type: 'int', num_bits: 4 }, false],
])('compressed-tensors of %s with %j: read %s', (format, weights, read) => {
  const settings = {
    quant_method: 'compressed-tensors',
    format,
    config_groups: { g: { targets: ['Linear'], weights } },
  };
  expect(isRead({ method: 'compressed-tensors', settings })).toBe(read);
});
