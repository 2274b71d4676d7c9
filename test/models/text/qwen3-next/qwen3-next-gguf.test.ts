// Names of GGUF tensors behind the last layer: heads that predict several tokens ahead.

import { expect, it } from 'vitest';
import { ggufClasses } from '../../../../src/models/text/registry.ts';

it.each([
  ['nextn.eh_proj.weight', [4, 8], [{ name: 'mtp.fc.weight', shape: [4, 8] }]],
  ['nextn.enorm.weight', [4], [{ name: 'mtp.pre_fc_norm_embedding.weight', shape: [4], added: 1 }]],
  ['nextn.hnorm.weight', [4], [{ name: 'mtp.pre_fc_norm_hidden.weight', shape: [4], added: 1 }]],
  ['nextn.shared_head_norm.weight', [4], [{ name: 'mtp.norm.weight', shape: [4], added: 1 }]],
  ['nextn.shared_head_head.weight', [9, 4], []],
  ['attn_q.weight', [8, 4], [{ name: 'mtp.layers.0.self_attn.q_proj.weight', shape: [8, 4] }]],
  [
    'post_attention_norm.weight',
    [4],
    [{ name: 'mtp.layers.0.post_attention_layernorm.weight', shape: [4], added: 1 }],
  ],
])('blk.3.%s behind three layers belongs to the heads', (module, shape, parts) => {
  const { parts: partsOf } = ggufClasses().get('qwen35')!;
  expect(partsOf({ name: `blk.3.${module}`, shape }, { num_hidden_layers: 3 })).toEqual(parts);
});
