// Converts the configurations of Gemma 4's encoder of sounds and of its processor. Only this file knows the key names.

import { MOST_NEAR } from '../../kernels/near-attend.ts';
import { readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import type { ConformerConfig } from './conformer.ts';
import { readHeads } from './conformer-config.ts';
import type { HtkMelConfig } from './htk-mel.ts';

export interface Gemma4AudioConfig extends ConformerConfig {
  layers: number;
  /** Bands of a frame. */
  mels: number;
  /** Channels of the two convolutions. */
  channels: readonly [number, number];
  /** Whether linear layers clamp what they take and give. */
  clipped: boolean;
  /** Columns of the encoder's result, and of the language model's rows. */
  made: number;
  out: number;
}

export interface Gemma4Sounds {
  encoder: Gemma4AudioConfig;
  mel: HtkMelConfig;
}

const RATE = 16_000;
/** Of transformers' Gemma4AudioConfig. */
const DEFAULT_CHANNELS = [128, 32] as const;
/** Settings of processors that change the computation; other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['Gemma4AudioFeatureExtractor'],
  sampling_rate: [RATE],
  frame_length: [320],
  hop_length: [160],
  fft_length: [512],
  fft_overdrive: [false],
  padding_value: [0],
  dither: [0],
  preemphasis: [0],
  input_scale_factor: [1],
  per_bin_mean: [null],
  per_bin_stddev: [null],
};

/** Throws unsupported for settings that are not computed. */
export function readGemma4Sounds({ config: json, processors, hidden: out }: MediaFiles): Gemma4Sounds {
  const config = readConfig('config.json', json).part('audio_config');
  config.only({
    model_type: ['gemma4_audio'],
    hidden_act: ['silu'],
    // Values of that size do not occur.
    gradient_clipping: [1e10],
    attention_invalid_logits_value: [-1e9],
  });
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only(PROCESSED);
  const mels = processor.count('feature_size', 128);
  const channels =
    config.values['subsampling_conv_channels'] == null
      ? DEFAULT_CHANNELS
      : (config.each('subsampling_conv_channels', 2) as [number, number]);
  // The second convolution's columns are a quarter of the bands, which the projection behind it counts by channels.
  if (mels !== channels[0])
    throw processor.error(
      'bad_checkpoint',
      'feature_size',
      `is ${mels}, and the encoder takes ${channels[0]}: take the values that the model was published with`,
    );
  const hidden = config.count('hidden_size', 1024);
  const heads = readHeads(config, 'num_attention_heads', hidden);
  return {
    encoder: {
      layers: config.count('num_hidden_layers', 12),
      hidden,
      heads,
      mels,
      channels,
      taps: config.count('conv_kernel_size', 5),
      ...readWindow(config),
      cap: config.real('attention_logit_cap', 50),
      // Softplus of zero is log 2, that of one log(1 + e).
      gains: { q: (hidden / heads) ** -0.5 / Math.log(2), k: Math.log(1 + Math.E) / Math.log(2) },
      share: config.real('residual_weight', 0.5),
      eps: config.real('rms_norm_eps', 1e-6),
      clipped: config.flag('use_clipped_linears', true),
      made: config.count('output_proj_dims', 1536),
      out,
    },
    mel: {
      rate: RATE,
      window: 320,
      length: 512,
      hop: 160,
      mels,
      least: processor.real('min_frequency', 0),
      most: processor.real('max_frequency', RATE / 2),
      floor: processor.real('mel_floor', 1e-3),
      isFloorAdded: true,
      before: 160,
      emphasis: 0,
    },
  };
}

/** transformers keeps a place for the row of the left context's whole length, which no row sees. */
function readWindow(config: ConfigReader): Pick<Gemma4AudioConfig, 'before' | 'after' | 'farthest'> {
  const chunk = config.count('attention_chunk_size', 12);
  const left = config.count('attention_context_left', 13);
  const right = config.count('attention_context_right', 0);
  const [before, after] = [left - 2, Math.max(right - 1, 0)];
  if (before >= 0 && before + 1 + after <= MOST_NEAR)
    return { before, after, farthest: Math.floor((chunk + left - 1 + right) / 2) - 1 };
  const problem = `is ${left}; choose a model with 2 to ${MOST_NEAR + 1 - after}`;
  throw config.error('unsupported', 'attention_context_left', problem);
}
