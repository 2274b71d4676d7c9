// Refusals of checkpoints whose tensors are not those that its model asks for.

import { describe, expect, it } from 'vitest';
import { checkRequests } from '../../../src/engine/weights/check.ts';
import { collect } from '../../../src/engine/weights/collect.ts';
import { unreadNote } from '../../../src/engine/weights/unread.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import type { Dtype, TensorEntry } from '../../../src/files/tensors/safetensors.ts';

const tensors = (stored: Record<string, [Dtype, number[]]>) =>
  new Map(
    Object.entries(stored).map(([name, [dtype, shape]]) => [name, { name, dtype, shape } as TensorEntry]),
  );

const check = (stored: Record<string, [Dtype, number[]]>, page: (weights: WeightTable) => unknown) =>
  checkRequests(collect(tensors(stored), page), tensors(stored));

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
      /a\.weight has rows of 4 values, and F8_E4M3 is read in rows of whole 128 values/,
    ],
    [
      'bitsandbytes',
      { 'b.weight.absmax': ['F32', [4]], 'a.weight': ['U8', [8, 1]] },
      /\(tensor b\.weight\.absmax\)/,
    ],
  ])('%s', (_, stored, message) => {
    expect(() => check(stored, (weights) => weights.matrix('a.weight', 4, 4))).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }) as Error,
    );
  });

  it.each<[string, Record<string, [Dtype, number[]]>]>([
    ['with scales', { 'a.weight': ['F8_E4M3', [128, 128]], 'a.weight_scale_inv': ['F32', [1, 1]] }],
    ['with its own scale', { 'a.weight': ['F8_E4M3', [128, 128]], 'a.weight_scale': ['F32', [1]] }],
  ])('are not those in FP8 that are read as they are, %s', (_, stored) => {
    const page = (weights: WeightTable) => [weights.matrix('a.weight', 128, 128), weights.vector('b', 4)];
    expect(() => check(stored, page)).toThrow(/tensor b is missing/);
  });

  it('may be those with a scale that is left over', () => {
    const stored: Record<string, [Dtype, number[]]> = {
      'a.weight': ['F16', [4, 4]],
      'a.weight_scale': ['F32', [1]],
    };
    expect(() => check(stored, (weights) => weights.matrix('a.weight', 4, 4))).toThrow(
      /quantized already \(tensor a\.weight_scale\)/,
    );
  });
});

describe('plain weights', () => {
  const asking = (page: (weights: WeightTable) => unknown) => () =>
    check({ 'a.weight': ['F32', [4, 4]], 'b.weight': ['I16', [4]] }, page);

  it('that are not of the model are refused with what would help', () => {
    const mismatch =
      /the weights and config\.json are not of one model, take both from where it was published/;
    expect(asking((weights) => weights.vector('c.weight', 4))).toThrow(/tensor c\.weight is missing/);
    expect(asking((weights) => weights.vector('c.weight', 4))).toThrow(mismatch);
    expect(asking((weights) => weights.matrix('a.weight', 4, 5))).toThrow(mismatch);
    expect(asking((weights) => weights.vector('b.weight', 4))).toThrow(
      /stored as I16, and only F32, F16 and BF16 are read: choose a checkpoint whose weights are in one of them/,
    );
  });

  it('without a head name the setting that ties it', () => {
    expect(asking((weights) => weights.head('embed_out.weight', 4, 4))).toThrow(
      /tensor embed_out\.weight is missing: .*tie_word_embeddings/,
    );
  });
});

describe('tensors that no request reads', () => {
  const page = (weights: WeightTable): void => {
    weights.embedding('model.embed.weight', 4, 4);
    for (const i of [0, 1]) weights.stacked([{ name: `model.layers.${i}.attn.q.weight`, rows: 4 }], 4);
    weights.ignore(/inv_freq$/);
  };
  const plain: Record<string, [Dtype, number[]]> = {
    'model.embed.weight': ['F32', [4, 4]],
    'model.layers.0.attn.q.weight': ['F32', [4, 4]],
    'model.layers.1.attn.q.weight': ['F32', [4, 4]],
  };
  const withThese = (...names: string[]) =>
    check({ ...plain, ...Object.fromEntries(names.map((name) => [name, ['F32', [4]] as const])) }, page);

  it.each([
    ['a bias of a matrix that is read', 'model.layers.1.attn.q.bias'],
    ['a norm within a layer', 'model.layers.0.attn.q_norm.weight'],
    ['a whole module within a layer', 'model.layers.0.mlp.gate.weight'],
    ['a norm beside the embedding', 'model.embed_norm.weight'],
    ['a parameter of the model itself', 'model.positions'],
    ['one more layer like the others', 'model.layers.2.attn.q.weight'],
  ])('are refused where the model would need them: %s', (_, name) => {
    expect(() => withThese(name)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', param: name }) as Error,
    );
  });

  it('are counted by their modules where nothing of these is read', () => {
    expect(withThese()).toEqual({ names: [], tensors: 0 });
    const unread = withThese(
      'model.layers.0.attn.inv_freq',
      'visual.blocks.0.attn.qkv.weight',
      'visual.blocks.0.attn.qkv.bias',
      'model.vision_tower.layers.0.norm.weight',
      'v_head.weight',
      'mtp.layers.0.attn.q.weight',
      'model.layers.2.eh_proj.weight',
      'model.layers.2.attn.q.weight',
      'model.layers.0.attn.q.input_scale',
    );
    const names = [
      'visual',
      'model.vision_tower',
      'v_head',
      'mtp',
      'model.layers.2',
      'model.layers.0.attn.q',
    ];
    expect(unread).toEqual({ names, tensors: 8 });
    expect(unreadNote(unread, 'LlamaForCausalLM')).toBe(
      `8 tensors of modules that LlamaForCausalLM does not have are ignored: ${names.join(', ')}`,
    );
  });
});

it('scales of a tensor that is not read are not read either', () => {
  const stored: Record<string, [Dtype, number[]]> = {
    'a.weight': ['F16', [4, 4]],
    'tied.weight': ['F8_E4M3', [4, 128]],
    'tied.weight_scale': ['F32', []],
  };
  const page = (weights: WeightTable): void => {
    weights.matrix('a.weight', 4, 4);
    weights.ignore(/^tied\.weight$/);
  };
  expect(() => check(stored, page)).not.toThrow();
  expect(() => check({ ...stored, 'a.weight_scale': ['F32', []] }, page)).toThrow(/a\.weight_scale/);
});
