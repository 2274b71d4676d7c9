// Converts the configurations of Moonshine and of its processor. Only this file knows the key names.

import type { CountKey } from '../config-bounds.ts';
import { checkHeads, readConfig, type ConfigReader } from '../config-values.ts';
import { processorPart } from '../processor-part.ts';
import { readRope } from '../text/blocks/rope-config.ts';
import type { RopeConfig } from '../text/blocks/rope.ts';
import type { TranscriberFiles } from './transcriber.ts';
import { ACTIVATIONS } from './whisper-config.ts';

export type MoonshineConfig = ReturnType<typeof readMoonshine>;

/** Layers of the encoder or of the decoder. */
export interface MoonshineLayers {
  layers: number;
  heads: number;
  dims: number;
  rope: RopeConfig;
}

export const MOONSHINE_RATE = 16_000;
/** Other values are not built. */
const PROCESSED = {
  feature_extractor_type: ['Wav2Vec2FeatureExtractor'],
  feature_size: [1],
  sampling_rate: [MOONSHINE_RATE],
  do_normalize: [false],
  padding_value: [0],
};
/** Of transformers' MoonshineConfig. */
const DEFAULTS = { hidden: 288, layers: 6, heads: 8, context: 512, rotated: 0.9 } as const;

/** Throws bad_checkpoint, unsupported. */
export function readMoonshine({ config: json, processors }: TranscriberFiles) {
  processorPart(processors, 'feature_extractor', 'preprocessor_config.json').only(PROCESSED);
  const config = readConfig('config.json', { partial_rotary_factor: DEFAULTS.rotated, ...json });
  config.only({ attention_bias: [false], tie_word_embeddings: [true], decoder_hidden_act: ['silu'] });
  const hidden = config.count('hidden_size', DEFAULTS.hidden);
  return {
    hidden,
    vocabulary: config.count('vocab_size', 32_768),
    context: config.count('max_position_embeddings', DEFAULTS.context),
    ffn: config.count('intermediate_size', 4 * DEFAULTS.hidden),
    activation: config.choice('encoder_hidden_act', ACTIVATIONS, 'gelu'),
    encoder: readLayers(config, hidden, {
      layers: 'encoder_num_hidden_layers',
      heads: 'encoder_num_attention_heads',
      keys: 'encoder_num_key_value_heads',
    }),
    decoder: readLayers(config, hidden, {
      layers: 'decoder_num_hidden_layers',
      heads: 'decoder_num_attention_heads',
      keys: 'decoder_num_key_value_heads',
    }),
    start: config.count('decoder_start_token_id', 1),
    end: config.count('eos_token_id', 2),
  };
}

function readLayers(
  config: ConfigReader,
  hidden: number,
  keys: Readonly<Record<'layers' | 'heads' | 'keys', CountKey>>,
): MoonshineLayers {
  const heads = checkHeads('config.json', hidden, config.count(keys.heads, DEFAULTS.heads), 2);
  // Queries are divided into as many heads as keys.
  config.only({ [keys.keys]: [heads] });
  const dims = hidden / heads;
  const { context } = DEFAULTS;
  const rope = readRope(config, dims, { context, partial: true, types: ['default'] });
  return { layers: config.count(keys.layers, DEFAULTS.layers), heads, dims, rope };
}
