// Converts the configurations of Voxtral Realtime's encoder of sounds and of its processor. Only this file knows the key names.

import { readConfig } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import { readRope } from '../text/blocks/rope-config.ts';
import type { MelConfig } from './mel-spectrum.ts';

export type VoxtralRealtimeConfig = ReturnType<typeof readEncoder>;

export interface VoxtralRealtimeSounds {
  encoder: VoxtralRealtimeConfig;
  mel: MelConfig;
  /** Tokens of silence before a sound, and tokens by which the text is behind it. */
  before: number;
  delay: number;
}

const [RATE, HOP, WINDOW] = [16_000, 160, 400];
/** Other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['VoxtralRealtimeFeatureExtractor', 'WhisperFeatureExtractor'],
  sampling_rate: [RATE],
  hop_length: [HOP],
  n_fft: [WINDOW],
  win_length: [WINDOW],
  padding_value: [0],
};
const DELAY = 6;
/** Limit on the rows that a row sees: tables of distances are three times as long. */
const MOST_WINDOW = 2 ** 13;
/** Frames of the features of a row of the encoder. */
const FRAMES = 2;
const PUBLISHED = 'take the values that the model was published with';

/** Tokens by which texts are behind their sounds, as all of config.json says. */
export const delayTokens = (json: MediaFiles['config']): number =>
  readConfig('config.json', json).count('default_num_delay_tokens', DELAY);

/** Errors: bad_checkpoint, unsupported. */
export function readVoxtralRealtime(files: MediaFiles): VoxtralRealtimeSounds {
  const encoder = readEncoder(files);
  const processor = processorPart(files.processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only(PROCESSED);
  const mels = processor.count('feature_size', 128);
  if (mels !== encoder.mels)
    throw processor.error(
      'bad_checkpoint',
      'feature_size',
      `is ${mels}, and the encoder takes ${encoder.mels}: ${PUBLISHED}`,
    );
  const loudest = processor.real('global_log_mel_max', 1.5);
  const delay = delayTokens(files.config);
  const stream = readConfig('tekken.json', files.processors['tekken.json'] ?? {});
  const seconds = (encoder.joined * FRAMES * HOP) / RATE;
  const perSecond = stream.real('frame_rate', 1 / seconds);
  if (Math.abs(perSecond * seconds - 1) > 1e-6)
    throw stream.error(
      'bad_checkpoint',
      'frame_rate',
      `is ${perSecond}, and a token is ${seconds} s by config.json: ${PUBLISHED}`,
    );
  const stated = stream.real('transcription_delay_ms', 1000 * seconds * delay) / 1000 / seconds;
  if (Math.abs(stated - delay) > 1e-6)
    throw stream.error(
      'bad_checkpoint',
      'transcription_delay_ms',
      `makes ${stated} tokens, and config.json has a default_num_delay_tokens of ${delay}: ${PUBLISHED}`,
    );
  return {
    encoder,
    mel: { rate: RATE, window: WINDOW, hop: HOP, mels, loudest },
    before: stream.count('streaming_n_left_pad_tokens', 32),
    delay,
  };
}

/** `out`: columns of the language model's states. */
function readEncoder({ config: json, hidden: out }: MediaFiles) {
  const outer = readConfig('config.json', json);
  outer.only({ projector_hidden_act: ['gelu'] });
  const joined = outer.count('downsample_factor', 4);
  const frames = outer.count('audio_length_per_tok', 8);
  if (frames !== FRAMES * joined)
    throw outer.error(
      'unsupported',
      'audio_length_per_tok',
      `is ${frames}, and ${joined} rows of the encoder are ${FRAMES * joined} frames: ${PUBLISHED}`,
    );
  const config = outer.part('audio_config');
  config.only({ hidden_act: ['silu'] });
  const window = config.count('sliding_window', 750);
  if (window > MOST_WINDOW)
    throw config.error(
      'unsupported',
      'sliding_window',
      `is ${window}, and up to ${MOST_WINDOW} rows are built: ${PUBLISHED}`,
    );
  const hidden = config.count('hidden_size', 1280);
  const dims = config.count('head_dim', 64);
  return {
    mels: config.count('num_mel_bins', 128),
    hidden,
    out,
    ffn: config.count('intermediate_size', 5120),
    heads: config.count('num_attention_heads', 32),
    dims,
    layers: config.count('num_hidden_layers', 32),
    eps: config.real('rms_norm_eps', 1e-5),
    /** Rows that a row sees, itself included. */
    window,
    rope: readRope(config, dims, { context: 1500, types: ['default'] }),
    /** Rows that make one row for the language model together. */
    joined,
  };
}
