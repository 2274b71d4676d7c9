// Phi-4-multimodal as it is published: Phi-4-mini's layers under names of their own, beside LoRAs that texts do not take.

import { expect, it } from 'vitest';
import { readLlamaConfig } from '../../../../src/models/text/llama/llama-config.ts';

const CONFIG = {
  vocab_size: 1000,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 4,
  num_attention_heads: 8,
  num_key_value_heads: 2,
  max_position_embeddings: 131072,
  original_max_position_embeddings: 4096,
  partial_rotary_factor: 0.75,
  rms_norm_eps: 1e-5,
  rope_scaling: { type: 'longrope', short_factor: [1, 1, 1], long_factor: [1, 2, 4] },
  sliding_window: 262144,
};

it('a configuration is that of Phi-4-mini', () => {
  const { attentionNames, mlpNames, ignored: _loras, ...own } = readLlamaConfig(CONFIG, 'Phi4MMForCausalLM');
  expect(own).toEqual({ ...readLlamaConfig(CONFIG, 'Phi3ForCausalLM'), architecture: 'Phi4MMForCausalLM' });
  expect([attentionNames?.qkv, mlpNames?.gateUp]).toEqual(['qkv_proj.base_layer', 'gate_up_proj.base_layer']);
});

it.each([
  ['model.layers.0.mlp.down_proj.lora_B.speech.weight', true],
  ['model.layers.0.self_attn.qkv_proj.lora_A.vision.weight', true],
  ['model.layers.0.mlp.down_proj.base_layer.weight', false],
])('%s is left out: %s', (name, isLeftOut) => {
  expect(readLlamaConfig(CONFIG, 'Phi4MMForCausalLM').ignored!.test(name)).toBe(isLeftOut);
});
