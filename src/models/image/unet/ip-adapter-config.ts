// Reads the configuration of an IP-Adapter, which follows from the shapes of its tensors.

import { readConfig, type Json } from '../../config-values.ts';

export interface IPAdapterConfig {
  /** Columns of what the image encoder gives. */
  imageColumns: number;
  /** Columns of the text that the UNet reads. */
  context: number;
  /** Tokens that stand for an image. */
  tokens: number;
  /** Layers that gather the tokens from all states of an image; null: they follow from its embedding. */
  resampler: { width: number; heads: number; layers: number; ffn: number } | null;
}

/** Columns of a head of the resampler in all published adapters. */
export const RESAMPLER_HEAD = 64;

export function readIPAdapterConfig(json: Json, file = 'config.json'): IPAdapterConfig {
  const config = readConfig(file, json);
  return {
    imageColumns: config.count('image_columns'),
    context: config.count('cross_attention_dim'),
    tokens: config.count('image_tokens'),
    resampler:
      json['resampler_width'] === undefined
        ? null
        : {
            width: config.count('resampler_width'),
            heads: config.count('resampler_heads'),
            layers: config.count('resampler_layers'),
            ffn: config.count('resampler_ffn'),
          },
  };
}
