// What config.json of Qwen3-Next and Qwen3.5 says, keys left out as in transformers' configuration classes, and what is refused.

import { describe, expect, it } from 'vitest';
import { readQwen3NextConfig } from '../../../../src/models/text/qwen3-next/qwen3-next-config.ts';

describe('keys of Qwen3-Next that are left out', () => {
  it('have the values of Qwen3-Next-80B-A3B', () => {
    const config = readQwen3NextConfig({}, 'Qwen3NextForCausalLM');
    expect(config).toMatchObject({
      vocabulary: 151936,
      hidden: 2048,
      heads: { heads: 16, kvHeads: 2, dims: 256, rotated: 64, gated: true },
      delta: { keyHeads: 16, keyDims: 128, heads: 32, dims: 128, taps: 4, tiled: false },
      experts: { count: 512, chosen: 10, ffn: 512, shared: 512, normed: true },
      normPlus: 1,
      tied: false,
      context: 32768,
    });
    expect(config.layers.length).toBe(48);
    expect(config.layers.filter(({ slot }) => slot === undefined).length).toBe(12);
  });

  it('have the values of Qwen3.5, dense and with experts', () => {
    const dense = readQwen3NextConfig({}, 'Qwen3_5ForCausalLM');
    expect(dense).toMatchObject({ hidden: 4096, ffn: 12288, experts: null, vocabulary: 248320 });
    expect(dense.heads.kvHeads).toBe(4);
    const mixture = readQwen3NextConfig({ norm_topk_prob: false }, 'Qwen3_5MoeForCausalLM');
    expect(mixture).toMatchObject({
      hidden: 2048,
      ffn: 512,
      experts: { count: 256, chosen: 8, normed: true },
    });
    expect(mixture.layers.length).toBe(40);
  });
});

it('the state of a sequence has rows of the convolution, of the heads, and of an unfinished chunk', () => {
  const [layer] = readQwen3NextConfig({}, 'Qwen3_5ForCausalLM').layers;
  const columns = 2 * 16 * 128 + 32 * 128;
  expect(layer!.slot).toBe(3 * columns + 32 * 128 * 128 + 7 * (16 * 128 + 32 * 128 + 32));
});

it.each([
  [{ num_hidden_layers: 2, layer_types: ['linear_attention', 'full_attention'] }, [true, false]],
  [{ num_hidden_layers: 3, full_attention_interval: 2 }, [true, false, true]],
])('the kinds of layers come from %j', (json, linear) => {
  const { layers } = readQwen3NextConfig(json, 'Qwen3_5ForCausalLM');
  expect(layers.map(({ slot }) => slot !== undefined)).toEqual(linear);
  expect(layers.map(({ rope }) => rope === null)).toEqual(linear);
});

it('layers without experts have the width of config.json', () => {
  const json = { num_hidden_layers: 2, mlp_only_layers: [1], intermediate_size: 96 };
  const { ffn, experts } = readQwen3NextConfig(json, 'Qwen3NextForCausalLM');
  expect(ffn).toBe(96);
  expect(experts!.layers).toEqual([true, false]);
});

it.each([
  [{ attn_output_gate: false }, 'config.json: attn_output_gate false is not built'],
  [{ hidden_act: 'gelu' }, 'config.json: hidden_act "gelu" is not built'],
  [{ linear_num_value_heads: 24 }, 'linear_num_value_heads is 24, no multiple of 16 linear_num_key_heads'],
  [{ linear_key_head_dim: 130 }, 'linear_key_head_dim 130 is not built'],
  [{ linear_value_head_dim: 512 }, 'linear_value_head_dim 512 is not built'],
  [{ linear_conv_kernel_dim: 1 }, 'linear_conv_kernel_dim is 1, an integer from 2'],
  [{ num_hidden_layers: 1, layer_types: ['sliding_attention'] }, 'layer_types is ["sliding_attention"]'],
])('a configuration of Qwen3-Next with %j is refused', (json, message) => {
  expect(() => readQwen3NextConfig(json, 'Qwen3_5ForCausalLM')).toThrow(message);
});
