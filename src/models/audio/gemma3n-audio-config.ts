// Converts the configurations of Gemma 3n's encoder of sounds and of its processor. Only this file knows the key names.

import { MOST_NEAR } from '../../kernels/near-attend.ts';
import { readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import type { ConformerConfig } from './conformer.ts';
import { readHeads } from './conformer-config.ts';
import type { HtkMelConfig } from './htk-mel.ts';

export interface Gemma3nAudioConfig extends ConformerConfig {
  layers: number;
  /** Bands of a frame. */
  mels: number;
  /** Channels of the two convolutions, and the eps of their norms. */
  channels: readonly [number, number];
  convEps: number;
  /** Columns of the language model's rows. */
  out: number;
  /** Rows of a table of tokens, and those of the token that fills a sound up and of the one that ends it. */
  vocabulary: number;
  filler: number;
  end: number;
  /** Rows of every sound. */
  tokens: number;
}

export interface Gemma3nSounds {
  encoder: Gemma3nAudioConfig;
  mel: HtkMelConfig;
}

const RATE = 16_000;
/** Of transformers' Gemma3nAudioConfig and Gemma3nConfig. */
const DEFAULTS = { channels: [128, 32], offset: 262_272, vocabulary: 128, tokens: 188 } as const;
/** Settings of processors that change the computation; other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['Gemma3nAudioFeatureExtractor'],
  sampling_rate: [RATE],
  frame_length: [512],
  hop_length: [160],
  fft_length: [1024],
  fft_overdrive: [true],
  padding_value: [0],
  dither: [0],
  preemphasis_htk_flavor: [true],
  input_scale_factor: [1],
  per_bin_mean: [null],
  per_bin_stddev: [null],
};

/** Throws unsupported for settings that are not computed. */
export function readGemma3nSounds({ config: json, processors, hidden: out }: MediaFiles): Gemma3nSounds {
  const outer = readConfig('config.json', json);
  const config = outer.part('audio_config');
  config.only({
    model_type: ['gemma3n_audio'],
    // Values of that size do not occur.
    gradient_clipping: [1e10],
    conf_reduction_factor: [4],
    sscp_conv_kernel_size: [squares(3)],
    sscp_conv_stride_size: [squares(2)],
  });
  const hidden = config.count('hidden_size', 1536);
  const heads = readHeads(config, 'conf_num_attention_heads', hidden);
  const before = readBefore(config);
  const mel = readMel(processors, config.count('input_feat_size', 128));
  const { channels } = DEFAULTS;
  return {
    encoder: {
      layers: config.count('conf_num_hidden_layers', 12),
      hidden,
      heads,
      mels: mel.mels,
      channels:
        config.values['sscp_conv_channel_size'] == null
          ? channels
          : (config.each('sscp_conv_channel_size', 2) as [number, number]),
      convEps: config.real('sscp_conv_group_norm_eps', 1e-3),
      taps: config.count('conf_conv_kernel_size', 5),
      ...{ before, after: 0, farthest: before },
      cap: config.real('conf_attention_logit_cap', 50),
      // Softplus of zero is log 2.
      gains: { q: (hidden / heads) ** -0.5 / Math.log(2), k: 1 },
      share: config.real('conf_residual_weight', 0.5),
      eps: config.real('rms_norm_eps', 1e-6),
      out,
      ...readTokens(outer, config),
    },
    mel,
  };
}

const squares = (size: number): number[][] => [
  [size, size],
  [size, size],
];

/** A sound is filled up with the last token of the language model's vocabulary, which the encoder's table has. */
function readTokens(
  outer: ConfigReader,
  config: ConfigReader,
): Pick<Gemma3nAudioConfig, 'vocabulary' | 'filler' | 'end' | 'tokens'> {
  const offset = config.count('vocab_offset', DEFAULTS.offset);
  const vocabulary = config.count('vocab_size', DEFAULTS.vocabulary);
  const filler = outer.part('text_config').count('vocab_size', 262_400) - 1 - offset;
  const end = outer.count('eoa_token_id', DEFAULTS.offset) - offset;
  if ([filler, end].some((row) => row < 0 || row >= vocabulary))
    throw config.error(
      'bad_checkpoint',
      'vocab_offset',
      `is ${offset}, and the tokens around a sound are not among the ${vocabulary} from there on: take the values that the model was published with`,
    );
  const tokens = outer.count('audio_soft_tokens_per_image', DEFAULTS.tokens);
  return { vocabulary, filler, end, tokens };
}

function readMel(processors: MediaFiles['processors'], mels: number): HtkMelConfig {
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only({ ...PROCESSED, feature_size: [mels] });
  return {
    rate: RATE,
    window: 512,
    length: 1024,
    hop: 160,
    mels,
    least: processor.real('min_frequency', 125),
    most: processor.real('max_frequency', 7600),
    floor: processor.real('mel_floor', 1e-5),
    isFloorAdded: false,
    before: 0,
    emphasis: processor.real('preemphasis', 0.97),
  };
}

/** Rows before its own that a row sees. None sees later ones, so that what fills a sound up changes no row before it. */
function readBefore(config: ConfigReader): number {
  config.only({ conf_attention_context_right: [0] });
  const left = config.count('conf_attention_context_left', 13);
  if (left <= MOST_NEAR) return left - 1;
  throw config.error(
    'unsupported',
    'conf_attention_context_left',
    `is ${left}; choose a model with 1 to ${MOST_NEAR}`,
  );
}
