// Converts the configurations of Qwen3-ASR's encoder of sounds and of its processor. Only this file knows the key names.

import { checkHeads, readConfig } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import type { MelConfig } from './mel-spectrum.ts';
import { ACTIVATIONS } from './whisper-config.ts';

export type Qwen3AsrConfig = ReturnType<typeof readEncoder>;

export interface Qwen3AsrSounds {
  encoder: Qwen3AsrConfig;
  mel: MelConfig;
  /** Samples that a shorter sound is filled up to with silence. */
  least: number;
}

const [RATE, HOP, WINDOW] = [16_000, 160, 400];
/** Other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['Qwen3ASRFeatureExtractor', 'WhisperFeatureExtractor'],
  sampling_rate: [RATE],
  hop_length: [HOP],
  n_fft: [WINDOW],
  padding_value: [0],
  dither: [0],
};

const PUBLISHED = 'take the values that the model was published with';

/** Errors: bad_checkpoint, unsupported. */
export function readQwen3Asr({ config, processors, hidden }: MediaFiles): Qwen3AsrSounds {
  const encoder = readEncoder(config, hidden);
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only(PROCESSED);
  const stated = {
    feature_size: processor.count('feature_size', 128),
    // Whisper's class, in the first layout, does not know it.
    n_window: processor.count('n_window', encoder.frames / 2),
  };
  const wanted = { feature_size: encoder.mels, n_window: encoder.frames / 2 };
  for (const key of ['feature_size', 'n_window'] as const)
    if (stated[key] !== wanted[key])
      throw processor.error(
        'bad_checkpoint',
        key,
        `is ${stated[key]}, and the encoder takes ${wanted[key]}: ${PUBLISHED}`,
      );
  const mel = { rate: RATE, window: WINDOW, hop: HOP, mels: encoder.mels };
  return { encoder, mel, least: processor.count('min_length', 8000) };
}

/** `out`: columns of the language model's states. */
function readEncoder(json: MediaFiles['config'], out: number) {
  const config = readConfig('config.json', json).part('audio_config');
  config.only({ scale_embedding: [false] });
  const hidden = config.count('d_model', 1024);
  const frames = 2 * config.count('n_window', 50);
  const seen = config.count('n_window_infer', 800);
  if (seen % frames !== 0)
    throw config.error(
      'bad_checkpoint',
      'n_window_infer',
      `is ${seen}, which is not a multiple of ${frames} frames: ${PUBLISHED}`,
    );
  const made = config.count('output_dim', 3584);
  if (made !== out)
    throw config.error(
      'bad_checkpoint',
      'output_dim',
      `is ${made}, and the language model takes ${out}: ${PUBLISHED}`,
    );
  return {
    mels: config.count('num_mel_bins', 128),
    hidden,
    out,
    ffn: config.count('encoder_ffn_dim', 4096),
    heads: checkHeads('config.json', hidden, config.count('encoder_attention_heads', 16)),
    layers: config.count('encoder_layers', 24),
    channels: config.count('downsample_hidden_size', 480),
    /** Frames of a chunk, and chunks whose rows see each other. */
    frames,
    together: seen / frames,
    activation: config.choice('activation_function', ACTIVATIONS, 'gelu'),
  };
}
