// Names of tensors in classes that wrap a language model: as published before transformers 4.52, as saved since, and alone.

import { expect, it } from 'vitest';
import { textTensors, wrappedTensors } from '../../../src/files/checkpoint/text-half.ts';

const ALONE = ['model.embed_tokens.weight', 'model.layers.0.mlp.up_proj.weight', 'lm_head.weight'];
const TOWER = ['visual.patch_embed.proj.weight', 'visual.merger.ln_q.weight'];
const entries = (names: readonly string[]) => new Map(names.map((name) => [name, name]));

it.each([
  ['as Qwen-Image is published', [...ALONE, ...TOWER]],
  [
    'as transformers 5 saves it',
    [
      'model.language_model.embed_tokens.weight',
      'model.language_model.layers.0.mlp.up_proj.weight',
      'lm_head.weight',
      'model.visual.patch_embed.proj.weight',
      'model.visual.merger.ln_q.weight',
    ],
  ],
  [
    'within a class of older releases',
    [
      'language_model.model.embed_tokens.weight',
      'language_model.model.layers.0.mlp.up_proj.weight',
      'language_model.lm_head.weight',
      ...TOWER,
    ],
  ],
])('tensors %s have the names that pages know', (_, names) => {
  const found = wrappedTensors(entries(names));
  expect([...found.keys()]).toEqual([...ALONE, ...TOWER]);
  expect([...found.values()]).toEqual(names);
});

it('tensors of other models keep their names', () => {
  const names = ['down_blocks.0.resnets.0.norm1.weight', 'text_model.embeddings.token_embedding.weight'];
  expect([...wrappedTensors(entries(names)).keys()]).toEqual(names);
});

it('textTensors() leaves the tower out', () => {
  const { tensors, left, leftTensors } = textTensors(
    entries(['model.language_model.norm.weight', 'model.visual.merger.ln_q.weight', 'lm_head.weight']),
  );
  expect([...tensors.keys()]).toEqual(['model.norm.weight', 'lm_head.weight']);
  expect({ left, leftTensors }).toEqual({ left: ['model.visual'], leftTensors: 1 });
});
