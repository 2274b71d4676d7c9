// Tensors of MLX folders under the names of transformers; those that do not fit one another are refused with the tensor and what is wrong.

import { describe, expect, it } from 'vitest';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { foldCoded } from '../../../src/files/coded/fold.ts';
import { memorySource } from '../memory-source.ts';
import { changed, openCodedGolden, without } from './coded-golden.ts';

const caseOf = await openCodedGolden('mlx-weights');

const fold = (tensors: Map<string, TensorEntry>, settings: Record<string, unknown>) =>
  foldCoded(tensors, { method: 'MLX', settings });

it('a short convolution of MLX has its channels where transformers has them', () => {
  const entry: TensorEntry = {
    ...{ name: 'l.conv.conv.weight', dtype: 'F32', shape: [6, 3, 1], offset: 0, bytes: 72 },
    source: memorySource('conv', new Uint8Array(72)),
  };
  const tensors = fold(new Map([[entry.name, entry]]), { bits: 4, group_size: 64 });
  expect(tensors.get(entry.name)!.shape).toEqual([6, 1, 3]);
});

const { tensors: a4 } = caseOf('a4');
const FOUR = { bits: 4, group_size: 64 };

describe('damaged weights of MLX are refused:', () => {
  it.each([
    ['no scales', without(a4, 'w.scales'), FOUR, /w\.scales is missing/],
    ['no offsets', without(a4, 'w.biases'), FOUR, /w\.biases is missing/],
    ['no codes', without(a4, 'w.weight'), FOUR, /w\.weight is missing/],
    ['few scales', changed(a4, 'w.scales', { shape: [32, 2] }), FOUR, /w\.scales has the shape \[32, 2\]/],
    ['few offsets', changed(a4, 'w.biases', { shape: [32, 2] }), FOUR, /w\.biases has the shape \[32, 2\]/],
    ['other offsets', changed(a4, 'w.biases', { dtype: 'F16' }), FOUR, /w\.biases is F16 .* and BF16/],
    ['scales in f32', changed(a4, 'w.scales', { dtype: 'F32' }), FOUR, /w\.scales is F32 .* F16 or BF16/],
    ['other groups', a4, { bits: 4, group_size: 128 }, /w\.weight has 192 inputs in groups of 128/],
    ['other bits', a4, { bits: 8, group_size: 64 }, /w\.weight has 96 inputs in groups of 64/],
    ['3 bits of a module', a4, { ...FOUR, w: { bits: 3 } }, /w is of 3 bits in mode affine by config\.json/],
    ['another mode of a module', a4, { ...FOUR, w: { mode: 'nvfp4' } }, /w is of 4 bits in mode nvfp4/],
  ])('%s', (_, tensors, settings, message) => {
    expect(() => fold(tensors, settings)).toThrow(message);
  });
});
