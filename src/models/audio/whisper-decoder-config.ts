// Converts the configuration of Whisper's decoder.

import { checkHeads, readConfig } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { ACTIVATIONS, type WhisperSettings } from './whisper-config.ts';

export type WhisperDecoderConfig = ReturnType<typeof readWhisperDecoder>;

export function readWhisperDecoder(
  { config: json }: Pick<MediaFiles, 'config'>,
  { encoder }: Pick<WhisperSettings, 'encoder'>,
) {
  const config = readConfig('config.json', json);
  config.only({ scale_embedding: [false], tie_word_embeddings: [true] });
  const { hidden } = encoder;
  const heads = checkHeads('config.json', hidden, config.count('decoder_attention_heads', 6));
  return {
    encoder,
    hidden,
    vocabulary: config.count('vocab_size', 51865),
    context: config.count('max_target_positions', 448),
    layers: config.count('decoder_layers', 4),
    ffn: config.count('decoder_ffn_dim', 1536),
    heads: { heads, kvHeads: heads, dims: hidden / heads },
    activation: config.choice('activation_function', ACTIVATIONS, 'gelu'),
  };
}
