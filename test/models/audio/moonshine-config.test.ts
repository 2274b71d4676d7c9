// Configurations of Moonshine as they are published and as transformers saves them, and what is refused.

import { expect, it } from 'vitest';
import { readMoonshine } from '../../../src/models/audio/moonshine-config.ts';

const PUBLISHED = {
  model_type: 'moonshine',
  ...{ hidden_size: 416, intermediate_size: 1664, vocab_size: 32_768, max_position_embeddings: 194 },
  ...{ encoder_num_hidden_layers: 8, encoder_num_attention_heads: 8, encoder_num_key_value_heads: 8 },
  ...{ decoder_num_hidden_layers: 8, decoder_num_attention_heads: 8, decoder_num_key_value_heads: 8 },
  ...{ encoder_hidden_act: 'gelu', decoder_hidden_act: 'silu', attention_bias: false },
  ...{ rope_theta: 10_000, rope_scaling: null, partial_rotary_factor: 0.9, pad_head_dim_to_multiple_of: 8 },
  ...{ bos_token_id: 1, eos_token_id: 2, decoder_start_token_id: 1 },
};
const PROCESSOR = {
  ...{ feature_extractor_type: 'Wav2Vec2FeatureExtractor', do_normalize: false, feature_size: 1 },
  ...{ padding_value: 0, sampling_rate: 16_000, return_attention_mask: true },
};
const read = (config: object, processor: object = PROCESSOR) =>
  readMoonshine({
    config: { ...config },
    processors: { 'preprocessor_config.json': { ...processor } },
    generation: {},
  });

it('the published form and that of transformers 5 are one', () => {
  const found = read(PUBLISHED);
  expect(found).toMatchObject({
    ...{ hidden: 416, ffn: 1664, context: 194, vocabulary: 32_768, activation: 'gelu', start: 1, end: 2 },
    ...{ encoder: { layers: 8, heads: 8, dims: 52 }, decoder: { rope: { dims: 46, theta: 10_000 } } },
  });
  const { rope_theta, rope_scaling, partial_rotary_factor, ...rest } = PUBLISHED;
  const rope_parameters = { rope_theta, partial_rotary_factor, rope_type: 'default' };
  expect(read({ ...rest, rope_parameters })).toEqual(found);
  // What is left out has the class's own values.
  expect(read({ ...rest, encoder_num_key_value_heads: null })).toEqual(found);
  expect(rope_scaling).toBeNull();
});

it.each([
  [{ attention_bias: true }, 'attention_bias'],
  [{ tie_word_embeddings: false }, 'tie_word_embeddings'],
  [{ decoder_num_key_value_heads: 4 }, 'decoder_num_key_value_heads'],
  [{ decoder_hidden_act: 'gelu' }, 'decoder_hidden_act'],
])('%j is refused', (changed, param) => {
  expect(() => read({ ...PUBLISHED, ...changed })).toThrow(
    expect.objectContaining({ code: 'unsupported', param }),
  );
});

it('sounds that are scaled to unit variance are refused', () => {
  expect(() => read(PUBLISHED, { ...PROCESSOR, do_normalize: true })).toThrow(/do_normalize/);
});
