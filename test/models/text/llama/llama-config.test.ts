// config.json files of the four families, and refusals of settings that are not built.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../../src/files/error.ts';
import { readLlamaConfig } from '../../../../src/models/text/llama/llama-config.ts';

const BASE = {
  vocab_size: 1000,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 4,
  num_attention_heads: 8,
  num_key_value_heads: 2,
  max_position_embeddings: 4096,
  rms_norm_eps: 1e-5,
};

const read = (family: string, changes: Record<string, unknown> = {}) =>
  readLlamaConfig({ ...BASE, ...changes }, `${family}ForCausalLM`);

describe('shapes in a configuration', () => {
  it('are taken as stated', () => {
    expect(read('Llama', { head_dim: 24, tie_word_embeddings: true })).toMatchObject({
      vocabulary: 1000,
      hidden: 64,
      ffn: 128,
      heads: { heads: 8, kvHeads: 2, dims: 24 },
      eps: 1e-5,
      context: 4096,
      tied: true,
      layers: Array.from({ length: 4 }, () => ({ window: null, rope: 0 })),
    });
  });

  it('have the defaults of transformers where they are left out or null', () => {
    const left = { num_key_value_heads: null, head_dim: undefined, rms_norm_eps: undefined };
    expect(read('Llama', { ...left, max_position_embeddings: undefined })).toMatchObject({
      heads: { heads: 8, kvHeads: 8, dims: 8 },
      eps: 1e-6,
      context: 2048,
      tied: false,
    });
  });
});

it('biases and head norms belong to their families', () => {
  const flags = (family: string, changes = {}) => {
    const { qkvBias, outBias, mlpBias, queryNorm } = read(family, changes);
    return { qkvBias, outBias, mlpBias, queryNorm };
  };
  const none = { qkvBias: false, outBias: false, mlpBias: false, queryNorm: 'none' };
  expect(flags('Llama')).toEqual(none);
  expect(flags('Mistral')).toEqual(none);
  expect(flags('Qwen2')).toEqual({ ...none, qkvBias: true });
  expect(flags('Qwen3')).toEqual({ ...none, queryNorm: 'heads' });
  expect(flags('Llama', { attention_bias: true, mlp_bias: true })).toEqual({
    qkvBias: true,
    outBias: true,
    mlpBias: true,
    queryNorm: 'none',
  });
});

describe('windows in a configuration', () => {
  const windows = (family: string, changes: object) =>
    read(family, { ...changes }).layers.map(({ window }) => window);

  it('are on every layer of Mistral, if stated', () => {
    expect(windows('Mistral', { sliding_window: 8 })).toEqual([8, 8, 8, 8]);
    expect(windows('Mistral', { sliding_window: null })).toEqual([null, null, null, null]);
    expect(windows('Llama', { sliding_window: 8 })).toEqual([null, null, null, null]);
  });

  it('are on the layers of Qwen from max_window_layers on, if switched on', () => {
    const stated = { sliding_window: 8, max_window_layers: 3 };
    expect(windows('Qwen2', { ...stated, use_sliding_window: true })).toEqual([null, null, null, 8]);
    expect(windows('Qwen2', { ...stated, use_sliding_window: true, max_window_layers: 0 })).toEqual([
      8, 8, 8, 8,
    ]);
    expect(windows('Qwen2', stated)).toEqual([null, null, null, null]);
    expect(windows('Qwen3', { sliding_window: 8, use_sliding_window: true })).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it('follow layer_types before anything else', () => {
    const layer_types = ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'];
    const stated = { sliding_window: 8, use_sliding_window: true, max_window_layers: 0, layer_types };
    expect(windows('Qwen3', stated)).toEqual([8, null, 8, null]);
    expect(() => windows('Qwen3', { layer_types: Array(4).fill('linear_attention') })).toThrow(
      'config.json: layer_types contains "linear_attention"; choose a model with layers of the types full_attention and sliding_attention',
    );
  });
});

describe('the context of a configuration', () => {
  const context = (rope_scaling: object, changes = {}) => read('Llama', { rope_scaling, ...changes }).context;

  it('is stretched by types that state the trained one', () => {
    expect(context({ type: 'linear', factor: 4 })).toBe(16384);
    expect(context({ type: 'dynamic', factor: 2 })).toBe(8192);
    expect(context({ type: 'yarn', factor: 4, original_max_position_embeddings: 4096 })).toBe(16384);
  });

  it('is not stretched again by types that state the stretched one', () => {
    const llama3 = {
      rope_type: 'llama3',
      factor: 8,
      original_max_position_embeddings: 512,
      low_freq_factor: 1,
      high_freq_factor: 4,
    };
    expect(context(llama3)).toBe(4096);
    expect(context({ type: 'yarn', factor: 4, original_max_position_embeddings: 1024 })).toBe(4096);
    // Qwen 3 with the scaling that its model card recommends.
    const qwen = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32768 };
    expect(context(qwen, { max_position_embeddings: 40960 })).toBe(131072);
    const factors = { short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2] };
    expect(context({ type: 'longrope', ...factors, original_max_position_embeddings: 512 })).toBe(4096);
  });
});

interface Reading {
  config: Record<string, unknown> & { architectures: [string] };
  error?: string;
  kvHeads: number;
  dims: number;
  eps: number;
  positions: number;
  tied: boolean;
  theta: number;
  rope: string;
  windows: (number | null)[];
}

describe('a configuration has the values of transformers', () => {
  const readings = JSON.parse(
    readFileSync(new URL('../../../golden/config-defaults.json', import.meta.url), 'utf8'),
  ) as Reading[];
  const named = readings.map((reading) => ({ ...reading, text: JSON.stringify(reading.config) }));

  it.each(named.filter(({ error }) => error === undefined))('$text', ({ config, ...wanted }) => {
    const { heads, eps, context, tied, ropes, layers } = readLlamaConfig(config, config.architectures[0]);
    const rope = ropes[0]!;
    const windows = layers.map(({ window }) => window);
    const stretch = rope.type === 'linear' || rope.type === 'dynamic' ? rope.factor : 1;
    expect({ ...heads, eps, tied, windows, context, theta: rope.theta, rope: rope.type }).toMatchObject({
      kvHeads: wanted.kvHeads,
      dims: wanted.dims,
      eps: wanted.eps,
      tied: wanted.tied,
      windows: wanted.windows,
      context: wanted.positions * stretch,
      theta: wanted.theta,
      rope: wanted.rope,
    });
  });

  it.each(named.filter(({ error }) => error !== undefined))('or a refusal: $text', ({ config }) => {
    expect(() => readLlamaConfig(config, config.architectures[0])).toThrow(EngineError);
  });
});

describe('refusals of a configuration', () => {
  it.each([
    [
      { num_attention_heads: 6 },
      /num_attention_heads is 6, which does not divide hidden_size 64, and head_dim is missing: take/,
    ],
    [{ tie_word_embeddings: 'true' }, /tie_word_embeddings is "true", true or false is needed/],
    [{ attention_bias: 1 }, /attention_bias is 1, true or false/],
    [{ rms_norm_eps: 0.5 }, /rms_norm_eps is 0.5, a number from 1e-16 to 0.01/],
    [{ rms_norm_eps: 0 }, /rms_norm_eps is 0,/],
    [{ rms_norm_eps: '1e-5' }, /rms_norm_eps is "1e-5"/],
    [{ rope_theta: 0 }, /config.json: rope_theta is 0, a number from 2/],
    [{ rope_theta: -10000 }, /rope_theta is -10000/],
    [{ rope_theta: '10000' }, /rope_theta is "10000"/],
    [{ rope_scaling: [1] }, /config.json: rope_scaling is \[1\], an object is needed/],
    [{ rope_scaling: 'linear' }, /rope_scaling is "linear", an object/],
    [{ rope_scaling: { type: 'linear', factor: -2 } }, /rope_scaling: factor is -2, a number from 0.001/],
    [{ rope_scaling: { type: 'linear', factor: '2' } }, /rope_scaling: factor is "2"/],
    [{ rope_scaling: { type: 'dynamic' } }, /rope_scaling: factor is missing/],
    [{ rope_parameters: { rope_type: 'linear', factor: 0 } }, /rope_parameters: factor is 0/],
    [{ rope_parameters: { rope_type: 'default', rope_theta: 0 } }, /rope_parameters: rope_theta is 0/],
    [
      { rope_scaling: { type: 'yarn', factor: 4, beta_fast: '32' } },
      /rope_scaling: beta_fast is "32", a number/,
    ],
    [{ rope_scaling: { type: 'yarn', factor: 4, attention_factor: NaN } }, /attention_factor is NaN/],
    [{ rope_scaling: { type: 'yarn', factor: 4, truncate: 'no' } }, /truncate is "no", true or false/],
    [
      { rope_scaling: { type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 1 } },
      /high_freq_factor is 1, less than low_freq_factor 4/,
    ],
    [
      { rope_scaling: { type: 'longrope', short_factor: [1, 1, 1, 0], long_factor: [1, 1, 1, 1] } },
      /short_factor is \[1,1,1,0\], longrope needs 4 numbers from 0.001/,
    ],
  ])('%j is damage', (changes, message) => {
    expect(() => read('Llama', changes)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message: expect.stringMatching(message) }) as Error,
    );
  });

  it.each([
    [{ sliding_window: 0 }, /sliding_window is 0, an integer from 1/],
    [{ sliding_window: -8 }, /sliding_window is -8/],
    [{ sliding_window: 4.5 }, /sliding_window is 4.5/],
    [{ sliding_window: '8', use_sliding_window: false }, /sliding_window is "8"/],
    [{ use_sliding_window: 'yes' }, /use_sliding_window is "yes", true or false/],
    [{ layer_types: ['full_attention'] }, /layer_types is \["full_attention"\], one for each of 4 layers/],
    [{ layer_types: 'full_attention' }, /layer_types is "full_attention", one for each/],
    [
      { use_sliding_window: false, layer_types: Array(4).fill('sliding_attention') },
      /layer_types has sliding_attention, and use_sliding_window is not true/,
    ],
  ])('of windows: %j', (changes, message) => {
    const switched = { use_sliding_window: true, max_window_layers: 0, ...changes };
    expect(() => read('Qwen3', { head_dim: 8, ...switched })).toThrow(message);
  });

  it('of rotations that differ by layer', () => {
    const rope_parameters = { full_attention: { rope_type: 'default', rope_theta: 1e6 } };
    expect(() => read('Qwen3', { head_dim: 8, rope_parameters })).toThrow(
      'config.json: rope_parameters has settings of its own for full_attention',
    );
  });

  it('of more experts a token than there are', () => {
    const experts = { num_experts: 4, moe_intermediate_size: 32, num_experts_per_tok: 5 };
    expect(() => read('Qwen3Moe', experts)).toThrow(
      'num_experts_per_tok is 5, more than the 4 experts there are',
    );
    const dense = { ...experts, num_experts_per_tok: 2, mlp_only_layers: 'all' };
    expect(() => read('Qwen3Moe', dense)).toThrow('mlp_only_layers is "all", a list of integers');
  });

  it.each([
    [{ hidden_size: undefined }, 'config.json: hidden_size is missing, an integer from 1 to 65536 is needed'],
    [{ vocab_size: 0 }, 'config.json: vocab_size is 0, an integer from 1 to 4194304 is needed'],
    [
      { num_hidden_layers: 2.5 },
      'config.json: num_hidden_layers is 2.5, an integer from 1 to 1024 is needed',
    ],
    [
      { intermediate_size: '128' },
      'config.json: intermediate_size is "128", an integer from 1 to 1048576 is needed',
    ],
    [{ head_dim: 0 }, 'config.json: head_dim is 0, an integer from 1 to 1024 is needed'],
    [
      { num_key_value_heads: 3 },
      'config.json: num_key_value_heads is 3, which does not divide num_attention_heads 8: take the values that the model was published with',
    ],
  ])('%j is a bad checkpoint', (changes, message) => {
    expect(() => read('Llama', changes)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message }) as Error,
    );
  });

  it.each([
    [
      { head_dim: 7 },
      'config.json: head_dim 7 is not built; choose a model whose heads have a multiple of 2 dimensions, at most 512',
    ],
    [
      { head_dim: 516 },
      'config.json: head_dim 516 is not built; choose a model whose heads have a multiple of 2 dimensions, at most 512',
    ],
    [
      { hidden_act: 'gelu' },
      'config.json: hidden_act "gelu" is not silu, which LlamaForCausalLM is computed with; choose a model that has it',
    ],
  ])('%j is not supported', (changes, message) => {
    expect(() => read('Llama', changes)).toThrow(
      expect.objectContaining({ code: 'unsupported', message }) as Error,
    );
  });

  it('of odd rotary shares, and of heads that a norm over a row cannot take', () => {
    expect(() => read('Phi3', { head_dim: 20, partial_rotary_factor: 0.45 })).toThrow(
      'partial_rotary_factor 0.45 is not built; choose a model that has an even share of 20',
    );
    const experts = { num_experts: 4, num_experts_per_tok: 2 };
    expect(() => read('Olmoe', { ...experts, head_dim: 6 })).toThrow(
      'head_dim 6 is not built; choose a model whose heads have a multiple of 4 dimensions',
    );
  });
});
