// Converts the configurations of Gemma 4 12B's images and sounds. Only this file knows the key names.

import { isJsonObject, readConfig } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';

export interface Gemma4UnifiedConfig {
  vision: {
    /** Pixels along a side of a patch, and patches along a side of the square that makes a row. */
    patch: number;
    pooled: number;
    /** Pixels along a side of such a square. */
    side: number;
    hidden: number;
    /** Learned positions along a side. */
    positions: number;
    eps: number;
    /** Columns of the result. */
    out: number;
  };
  /** null: the model hears nothing. */
  audio: {
    /** Samples of the piece of a sound that makes a row. */
    samples: number;
    eps: number;
    out: number;
  } | null;
}

/** Throws unsupported for settings that are not computed. */
export function readGemma4Unified(files: MediaFiles): Gemma4UnifiedConfig {
  const { config: json, hidden: out } = files;
  const vision = readConfig('config.json', json).part('vision_config');
  vision.only({ model_type: ['gemma4_unified_vision'] });
  const patch = vision.count('patch_size', 16);
  const pooled = vision.count('pooling_kernel_size', 3);
  return {
    vision: {
      patch,
      pooled,
      side: patch * pooled,
      hidden: vision.count('mm_embed_dim', 3840),
      positions: vision.count('mm_posemb_size', 1120),
      eps: vision.real('rms_norm_eps', 1e-6),
      out,
    },
    audio: isJsonObject(json['audio_config']) ? readAudio(files) : null,
  };
}

function readAudio({ config: json, processors, hidden: out }: MediaFiles): Gemma4UnifiedConfig['audio'] {
  const config = readConfig('config.json', json).part('audio_config');
  config.only({ model_type: ['gemma4_unified_audio'] });
  const samples = config.count('audio_embed_dim', 640);
  const processor = processorPart(processors, 'feature_extractor', 'preprocessor_config.json');
  processor.only({ sampling_rate: [16_000], padding_value: [0] });
  const stated = processor.count('audio_samples_per_token', 640);
  if (stated !== samples)
    throw processor.error(
      'bad_checkpoint',
      'audio_samples_per_token',
      `is ${stated}, and the model takes ${samples}`,
    );
  return { samples, eps: config.real('rms_norm_eps', 1e-6), out };
}
