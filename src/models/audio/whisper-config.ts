// Converts the configurations of Whisper's encoder and of its processor. Only this file knows the key names.

import type { CountKey } from '../config-bounds.ts';
import { checkHeads, readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import type { MelConfig } from './mel-spectrum.ts';

export interface WhisperSettings {
  encoder: WhisperConfig;
  mel: MelConfig;
  /** Frames of a window. */
  frames: number;
}

export const ACTIVATIONS = { gelu: 'gelu', gelu_new: 'gelu-tanh', gelu_pytorch_tanh: 'gelu-tanh' } as const;
const [RATE, HOP, WINDOW] = [16_000, 160, 400];
/** Other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['WhisperFeatureExtractor'],
  sampling_rate: [RATE],
  hop_length: [HOP],
  n_fft: [WINDOW],
  padding_value: [0],
  dither: [0],
  do_normalize: [false],
};

export function readWhisper({
  config,
  processors,
}: Pick<MediaFiles, 'config' | 'processors'>): WhisperSettings {
  const encoder = readEncoder(config);
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only(PROCESSED);
  const mels = processor.count('feature_size', 80);
  if (mels !== encoder.mels)
    throw processor.error(
      'bad_checkpoint',
      'feature_size',
      `is ${mels}, and the encoder takes ${encoder.mels}`,
    );
  const seconds = processor.count('chunk_length', 30);
  const frames = (seconds * RATE) / HOP;
  if (frames !== 2 * encoder.positions) {
    const problem = `is ${seconds}, ${frames} frames, and the encoder takes ${2 * encoder.positions}`;
    throw processor.error('bad_checkpoint', 'chunk_length', problem);
  }
  return { encoder, mel: { rate: RATE, window: WINDOW, hop: HOP, mels }, frames };
}

export type WhisperConfig = ReturnType<typeof readEncoder>;

function readEncoder(json: MediaFiles['config']) {
  const config = audioConfig(json);
  /** Both classes of configurations answer to either name. */
  const named = (own: CountKey, general: CountKey, otherwise: number): number =>
    config.count(config.values[own] == null ? general : own, otherwise);
  const hidden = named('d_model', 'hidden_size', 1280);
  return {
    mels: config.count('num_mel_bins', 128),
    hidden,
    ffn: named('encoder_ffn_dim', 'intermediate_size', 5120),
    heads: checkHeads('config.json', hidden, named('encoder_attention_heads', 'num_attention_heads', 20)),
    layers: named('encoder_layers', 'num_hidden_layers', 32),
    /** Rows that the encoder makes of a whole window, one of two frames each. */
    positions: config.count('max_source_positions', 1500),
    activation: config.choice('activation_function', ACTIVATIONS, 'gelu'),
  };
}

function audioConfig(json: MediaFiles['config']): ConfigReader {
  return readConfig('config.json', json).part('audio_config');
}
