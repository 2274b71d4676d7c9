// Converts the configurations of Gemma 3n's encoder of images and of its processor. Only this file and mobilenet-v5-config.ts know the key names.

import { readConfig, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { checkSteps, HALVES, readPixelValues, type PixelValues } from '../pixel-values.ts';
import { readMobileNetV5, type MobileNetV5Config } from './mobilenet-v5-config.ts';

export interface Gemma3nVisionConfig {
  encoder: MobileNetV5Config;
  /** Columns of the language model's rows. */
  out: number;
  eps: number;
  /** Rows of a table of tokens, and that of the token that ends an image. */
  vocabulary: number;
  end: number;
}

export interface Gemma3nImageConfig {
  /** Pixels along a side of every image. */
  side: number;
  filter: 'bilinear' | 'bicubic';
  values: PixelValues;
}

/** Of transformers' configuration classes. */
const DEFAULTS = { offset: 262_144, vocabulary: 128, tokens: 256 };
const UNCHANGED = { means: [0, 0, 0], spreads: [1, 1, 1] };

export function readGemma3nVision({ config: json, processors, hidden: out }: MediaFiles): {
  tower: Gemma3nVisionConfig;
  images: Gemma3nImageConfig;
} {
  const outer = readConfig('config.json', json);
  const config = outer.part('vision_config');
  config.only({ model_type: ['gemma3n_vision'] });
  const encoder = readMobileNetV5(config);
  const vocabulary = config.count('vocab_size', DEFAULTS.vocabulary);
  const offset = config.count('vocab_offset', DEFAULTS.offset);
  const end = outer.count('eoi_token_id', DEFAULTS.offset) - offset;
  if (end < 0 || end >= vocabulary)
    throw config.error(
      'bad_checkpoint',
      'vocab_offset',
      `is ${offset}, and the token that ends an image is not among the ${vocabulary} from there on: take the values that the model was published with`,
    );
  const tokens = outer.count('vision_soft_tokens_per_image', DEFAULTS.tokens);
  if (tokens !== encoder.across ** 2)
    throw outer.error(
      'bad_checkpoint',
      'vision_soft_tokens_per_image',
      `is ${tokens}, and the encoder gives ${encoder.across ** 2} rows: take the value that the model was published with`,
    );
  const tower = { encoder, out, eps: config.real('rms_norm_eps', 1e-6), vocabulary, end };
  return { tower, images: readImages(processors, encoder) };
}

function readImages(
  processors: MediaFiles['processors'],
  { stages, across }: MobileNetV5Config,
): Gemma3nImageConfig {
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  const filter = processor.values['resample'] === 2 ? 'bilinear' : 'bicubic';
  checkSteps(processor, filter, { do_normalize: [true, false] });
  const side = sideOf(processor);
  const most = 2 ** stages.length;
  if (side % (2 * most) !== 0 || (side / most) % across !== 0)
    throw processor.error(
      'unsupported',
      'size',
      `has sides of ${side} pixels; choose a model whose encoder halves them to whole squares, such as 768`,
    );
  const isNormalized = processor.flag('do_normalize', true);
  const values = readPixelValues(processor, HALVES);
  return { side, filter, values: isNormalized ? values : { ...values, ...UNCHANGED } };
}

function sideOf(processor: ConfigReader): number {
  const size = processor.part('size');
  const side = size.count('height', 224);
  size.only({ width: [side] });
  return side;
}
