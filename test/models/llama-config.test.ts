// What the four families' config.json files say, and what is said of those that cannot be followed.

import { describe, expect, it } from 'vitest';
import { readLlamaConfig } from '../../src/models/llama-config.ts';

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

describe('shapes', () => {
  it('are taken as stated', () => {
    expect(read('Llama', { head_dim: 24, tie_word_embeddings: true })).toMatchObject({
      vocabulary: 1000,
      hidden: 64,
      ffn: 128,
      heads: { heads: 8, kvHeads: 2, dims: 24 },
      eps: 1e-5,
      context: 4096,
      tied: true,
      windows: [null, null, null, null],
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

describe('windows', () => {
  const windows = (family: string, changes: object) => read(family, { ...changes }).windows;

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
    expect(() => windows('Qwen3', { layer_types: ['linear_attention'] })).toThrow(
      'config.json: layer type "linear_attention" is unknown; known are full_attention, sliding_attention',
    );
  });
});

describe('the context', () => {
  const context = (rope_scaling: object, changes = {}) => read('Llama', { rope_scaling, ...changes }).context;

  it('is stretched by types that state the trained one', () => {
    expect(context({ type: 'linear', factor: 4 })).toBe(16384);
    expect(context({ type: 'dynamic', factor: 2 })).toBe(8192);
    expect(context({ type: 'yarn', factor: 4, original_max_position_embeddings: 4096 })).toBe(16384);
  });

  it('is not stretched again by types that state the stretched one', () => {
    const llama3 = { rope_type: 'llama3', factor: 8, original_max_position_embeddings: 512 };
    expect(context(llama3)).toBe(4096);
    expect(context({ type: 'yarn', factor: 4, original_max_position_embeddings: 1024 })).toBe(4096);
    // Qwen 3 with the scaling that its card says to add.
    const qwen = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32768 };
    expect(context(qwen, { max_position_embeddings: 40960 })).toBe(131072);
    const factors = { short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2] };
    expect(context({ type: 'longrope', ...factors, original_max_position_embeddings: 512 })).toBe(4096);
  });
});

describe('refusals', () => {
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
      'config.json: 8 num_attention_heads are no multiple of 3 num_key_value_heads',
    ],
  ])('%j is a bad checkpoint', (changes, message) => {
    expect(() => read('Llama', changes)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message }) as Error,
    );
  });

  it.each([
    [{ head_dim: 6 }, 'config.json: head_dim 6 must be a multiple of 4 up to 256'],
    [{ head_dim: 260 }, 'config.json: head_dim 260 must be a multiple of 4 up to 256'],
    [
      { hidden_act: 'gelu' },
      'config.json: hidden_act "gelu" is not silu, which LlamaForCausalLM is computed with',
    ],
  ])('%j is not supported', (changes, message) => {
    expect(() => read('Llama', changes)).toThrow(
      expect.objectContaining({ code: 'unsupported', message }) as Error,
    );
  });
});
