// Refusals of checkpoints whose tensors are not those that its model asks for.

import { describe, expect, it } from 'vitest';
import { weightNames } from '../../../src/engine/weights/weight-names.ts';
import type { Dtype, TensorEntry } from '../../../src/files/checkpoint/safetensors.ts';

const tensors = (stored: Record<string, [Dtype, number[]]>) =>
  new Map(
    Object.entries(stored).map(([name, [dtype, shape]]) => [name, { name, dtype, shape } as TensorEntry]),
  );

describe('weights that are quantized although nothing declares it', () => {
  it.each<[string, Record<string, [Dtype, number[]]>, RegExp]>([
    [
      'NVFP4',
      { 'a.weight': ['U8', [4, 2]], 'a.weight_scale': ['F8_E4M3', [4, 1]] },
      /quantized already \(a\.weight is U8\)/,
    ],
    [
      'GPTQ',
      { 'a.qweight': ['I32', [1, 4]], 'a.scales': ['F16', [1, 4]] },
      /quantized already \(tensor a\.qweight\)/,
    ],
    [
      'FP8',
      { 'a.weight': ['F8_E4M3', [4, 4]], 'a.weight_scale_inv': ['F32', [1, 1]] },
      /\(a\.weight is F8_E4M3\)/,
    ],
    [
      'bitsandbytes',
      { 'b.weight.absmax': ['F32', [4]], 'a.weight': ['U8', [8, 1]] },
      /\(tensor b\.weight\.absmax\)/,
    ],
  ])('%s', (_, stored, message) => {
    expect(() => weightNames(tensors(stored)).find('a.weight', [4, 4])).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }) as Error,
    );
  });

  it('or left over', () => {
    const names = weightNames(tensors({ 'a.weight': ['F16', [4, 4]], 'a.weight_scale': ['F32', [1]] }));
    names.find('a.weight', [4, 4]);
    expect(() => names.requireAll()).toThrow(/quantized already \(tensor a\.weight_scale\)/);
  });
});

describe('plain weights', () => {
  const names = () => weightNames(tensors({ 'a.weight': ['F32', [4, 4]], 'b.weight': ['I16', [4]] }));

  it('that are not of the model are refused with what would help', () => {
    const mismatch =
      /the weights and config\.json are not of one model, take both from where it was published/;
    expect(() => names().find('c.weight', [4])).toThrow(/tensor c\.weight is missing/);
    expect(() => names().find('c.weight', [4])).toThrow(mismatch);
    expect(() => names().find('a.weight', [4, 5])).toThrow(mismatch);
    expect(() => names().requireAll()).toThrow(mismatch);
    expect(() => names().find('b.weight', [4])).toThrow(
      /stored as I16, .*: choose a checkpoint whose weights are in one of them/,
    );
  });

  it('without a head name the setting that ties it', () => {
    expect(() => names().find('lm_head.weight', [4, 4])).toThrow(
      /lm_head\.weight is missing: .*tie_word_embeddings/,
    );
  });
});
