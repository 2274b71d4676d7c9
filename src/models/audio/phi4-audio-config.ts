// Converts the configuration of Phi-4-multimodal's encoder of sounds and of its processor, as transformers saves them and as the published
// repository has them. Only this file knows the key names.

import { checkHeads, readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import type { HtkMelConfig } from './htk-mel.ts';

export interface Phi4AudioConfig {
  hidden: number;
  ffn: number;
  heads: number;
  layers: number;
  /** Bands of a frame. */
  mels: number;
  /** Channels of the convolutions that join frames. */
  channels: number;
  /** Rows that the convolution of a layer sees. */
  taps: number;
  /** Distances up to this one have biases of their own. */
  farthest: number;
  /** Columns of the language model's rows. */
  out: number;
  names: Phi4SoundNames;
}

/** Names of modules, in a layer and behind the encoder. */
export interface Phi4SoundNames {
  gateUp: string;
  down: string;
  /** Of attention: queries, keys, values, and what follows. */
  projections: readonly [q: string, k: string, v: string];
  out: string;
  /** Two products for sounds alone, and for those beside images. */
  alone: readonly [up: string, down: string];
  beside: readonly [up: string, down: string];
}

export interface Phi4Sounds {
  encoder: Phi4AudioConfig;
  mel: HtkMelConfig;
}

const RATE = 16_000;
const NAMES: Phi4SoundNames = {
  gateUp: 'gate_up_proj',
  down: 'down_proj',
  projections: ['q_proj', 'k_proj', 'v_proj'],
  out: 'o_proj',
  alone: ['up_proj_for_speech', 'down_proj_for_speech'],
  beside: ['up_proj_for_vision_speech', 'down_proj_for_vision_speech'],
};
const PUBLISHED_NAMES: Phi4SoundNames = {
  gateUp: 'net.0.linear',
  down: 'net.2',
  projections: ['linear_q', 'linear_k', 'linear_v'],
  out: 'linear_out',
  alone: ['audio_projection.speech.0', 'audio_projection.speech.2'],
  beside: ['audio_projection.vision.0', 'audio_projection.vision.2'],
};
/** Settings of both forms of the encoder; other values are not built. */
const ENCODED = {
  activation: ['swish'],
  conv_activation: ['swish'],
  conv_glu_type: ['swish'],
  chunk_size: [-1],
  depthwise_multiplier: [1],
  time_reduction: [8],
};
const PUBLISHED = {
  batch_norm: [false],
  bias_in_glu: [true],
  causal: [true],
  cnn_layer_norm: [true],
  ext_pw_kernel_size: [1],
  input_layer: ['nemo_conv'],
  linear_glu_in_convm: [false],
  attention_group_size: [1],
};
/** Of processors. */
const PROCESSED = {
  feature_extractor_type: ['Phi4MultimodalFeatureExtractor', 'Phi4MMAudioFeatureExtractor'],
  sampling_rate: [RATE],
  win_length: [400],
  hop_length: [160],
  n_fft: [512],
  padding_value: [0],
  audio_compression_rate: [8],
  audio_downsample_rate: [1],
  audio_feat_stride: [1],
};

/** Throws unsupported for settings that are not computed. */
export function readPhi4Sounds({ config: json, processors, hidden: out }: MediaFiles): Phi4Sounds {
  const config = readConfig('config.json', json);
  const isPublished = config.values['model_type'] === 'phi4mm';
  const encoder = isPublished ? readPublished(config, out) : readEncoder(config.part('audio_config'), out);
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only({ ...PROCESSED, feature_size: [encoder.mels] });
  return {
    encoder,
    mel: {
      rate: RATE,
      window: 400,
      length: 512,
      hop: 160,
      mels: encoder.mels,
      least: processor.real('mel_min_frequency', 0),
      most: processor.real('mel_max_frequency', 7690),
      floor: 1,
      isFloorAdded: false,
      before: 0,
      emphasis: processor.real('preemphasis', 0.97),
      kaldi: { gain: 2 ** 15 },
    },
  };
}

function readEncoder(config: ConfigReader, out: number): Phi4AudioConfig {
  const hidden = config.count('hidden_size', 1024);
  config.only({
    ...ENCODED,
    bias_symmetric: [false],
    nemo_activation: ['relu'],
    downsample_rate: [1],
    ext_pw_out_channel: [hidden],
    depthwise_separable_out_channel: [hidden],
    depthwise_seperable_out_channel: [hidden],
  });
  return {
    hidden,
    ffn: config.count('intermediate_size', 1536),
    heads: checkHeads('config.json', hidden, config.count('num_attention_heads', 16)),
    layers: config.count('num_blocks', 24),
    mels: config.count('input_size', 80),
    channels: config.count('nemo_conv_channels', 1024),
    taps: config.count('kernel_size', 3),
    farthest: config.count('bias_max_distance', 1000),
    out,
    names: NAMES,
  };
}

function readPublished(outer: ConfigReader, out: number): Phi4AudioConfig {
  outer
    .part('embd_layer')
    .part('audio_embd_layer')
    .only({
      compression_rate: [8],
      downsample_rate: [1],
      projection_cls: ['mlp'],
      use_conv_downsample: [false],
      use_qformer: [false],
    });
  const config = outer.part('audio_processor').part('config');
  const hidden = config.count('attention_dim', 1024);
  config.only({
    ...ENCODED,
    ...PUBLISHED,
    ext_pw_out_channel: [hidden],
    depthwise_seperable_out_channel: [hidden],
  });
  const distances = config.part('relative_attention_bias_args');
  distances.only({ type: ['t5'], t5_bias_symmetric: [false] });
  const convolved = config.part('nemo_conv_settings');
  convolved.only({ is_causal: [false], subsampling: ['dw_striding'], subsampling_factor: [8] });
  return {
    hidden,
    ffn: config.count('linear_units', 1536),
    heads: checkHeads('config.json', hidden, config.count('attention_heads', 16)),
    layers: config.count('num_blocks', 24),
    mels: config.count('input_size', 80),
    channels: convolved.count('conv_channels', 1024),
    taps: config.count('kernel_size', 3),
    farthest: distances.count('t5_bias_max_distance', 500),
    out,
    names: PUBLISHED_NAMES,
  };
}
