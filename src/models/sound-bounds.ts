// Bounds of the numbers in configurations of models that take sounds; see config-bounds.ts.

import { HEADS, TOKEN_ID } from './bounds.ts';

export const SOUND_COUNTS = {
  num_mel_bins: [1, 2 ** 10],
  feature_size: [1, 2 ** 10],
  max_source_positions: [2, 2 ** 16],
  default_num_delay_tokens: [0, 2 ** 10],
  audio_length_per_tok: [1, 2 ** 8],
  streaming_n_left_pad_tokens: [0, 2 ** 10],
  median_filter_width: [1, 2 ** 8],
  n_window: [1, 2 ** 10],
  n_window_infer: [1, 2 ** 16],
  output_dim: [1, 2 ** 20],
  downsample_hidden_size: [4, 2 ** 14],
  min_length: [0, 2 ** 20],
  max_target_positions: [8, 2 ** 16],
  chunk_length: [1, 2 ** 10],
  encoder_layers: [1, 2 ** 10],
  encoder_num_hidden_layers: [1, 2 ** 10],
  encoder_num_attention_heads: HEADS,
  encoder_num_key_value_heads: HEADS,
  decoder_num_hidden_layers: [1, 2 ** 10],
  decoder_num_attention_heads: HEADS,
  decoder_num_key_value_heads: HEADS,
  decoder_start_token_id: TOKEN_ID,
  encoder_attention_heads: [1, 2 ** 10],
  encoder_ffn_dim: [1, 2 ** 20],
  decoder_layers: [1, 2 ** 10],
  decoder_attention_heads: [1, 2 ** 10],
  decoder_ffn_dim: [1, 2 ** 20],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>;
