// Converts the configuration of LFM2-VL to what its tower and its processor need. Only this file knows the key names.

import type { Activation } from '../../../kernels/activation.ts';
import { readConfig, shown, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { checkSteps, HALVES, readPixelValues } from '../pixel-values.ts';
import type { Siglip2Config } from './siglip2.ts';
import { readSiglipEncoder } from '../siglip-config.ts';
import type { TileBounds } from '../tile-grid.ts';
import type { PatchConfig } from '../tiles.ts';

export interface Lfm2VisionConfig extends Siglip2Config {
  /** Patches along a side of a cell; each cell becomes one row of the result. */
  merge: number;
  projector: { columns: number; activation: Activation; bias: boolean; norm: boolean };
  /** Columns of the result. */
  out: number;
}

/** How the processor sees an image. */
export interface Lfm2ImageConfig extends PatchConfig {
  merge: number;
  /** Cells of an image that is not divided. */
  cells: TileBounds;
  /** An image of so many times the most cells is divided. */
  tolerance: number;
  /** Pixels along a side of a tile. */
  side: number;
  tiles: TileBounds;
  /** Whether the whole image follows its tiles. */
  whole: boolean;
}

/** The key of how patches are stored. */
export const BY_CHANNELS = 'patches_by_channels';

const ACTIVATIONS = { gelu: 'gelu', gelu_pytorch_tanh: 'gelu-tanh', silu: 'silu' } as const;

export function readLfm2Vl(files: MediaFiles): { tower: Lfm2VisionConfig; images: Lfm2ImageConfig } {
  const config = readConfig('config.json', files.config);
  const tower = readTower(config, files.hidden);
  return { tower, images: readImages(files, tower) };
}

function readTower(config: ConfigReader, out: number): Lfm2VisionConfig {
  // The model's own code took the states of a layer; published files take the last.
  config.only({ vision_feature_layer: [-1] });
  const vision = config.part('vision_config');
  vision.only({ model_type: ['siglip2_vision_model'] });
  const { side: _side, ...encoder } = readSiglipEncoder(vision, { hidden: 768, heads: 12, patch: 16 });
  const count = vision.count('num_patches', 256);
  return {
    ...encoder,
    // Only what is made of files of llama.cpp has this key.
    byChannels: vision.flag(BY_CHANNELS, false),
    places: Math.floor(Math.sqrt(count)),
    merge: config.count('downsample_factor', 2),
    projector: {
      columns: config.count('projector_hidden_size', 2560),
      activation: config.choice('projector_hidden_act', ACTIVATIONS, 'gelu'),
      bias: config.flag('projector_bias', true),
      norm: config.flag('projector_use_layernorm', true),
    },
    out,
  };
}

function readImages({ processors }: MediaFiles, { patch, merge }: Lfm2VisionConfig): Lfm2ImageConfig {
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  checkSteps(processor, 'bilinear');
  const texts = readConfig('processor_config.json', processors['processor_config.json'] ?? {});
  texts.only({ use_image_special_tokens: [true] });
  for (const [key, own, fallback] of [
    ['encoder_patch_size', patch, 16],
    ['downsample_factor', merge, 2],
  ] as const) {
    const stated = processor.count(key, fallback);
    if (stated !== own)
      throw processor.error(
        'bad_checkpoint',
        key,
        `is ${stated}, and the tower takes ${own}: take the values that the model was published with`,
      );
  }
  const side = processor.count('tile_size', 512);
  if (side % (patch * merge) !== 0) {
    const problem = `is ${side}; choose a model with a multiple of ${patch * merge} pixels`;
    throw processor.error('unsupported', 'tile_size', problem);
  }
  return {
    patch,
    merge,
    cells: { min: processor.count('min_image_tokens', 64), max: processor.count('max_image_tokens', 256) },
    tolerance: processor.real('max_pixels_tolerance', 2),
    side,
    tiles: readTiles(processor),
    whole: processor.flag('use_thumbnail', true),
    ...readPixelValues(processor, HALVES),
  };
}

/** One tile at most: images are not divided. */
function readTiles(processor: ConfigReader): TileBounds {
  const [min, max] = [processor.count('min_tiles', 2), processor.count('max_tiles', 10)];
  if (!processor.flag('do_image_splitting', true) || max === 1) return { min: 1, max: 1 };
  if (min > 1 && min <= max) return { min, max };
  throw processor.error(
    'unsupported',
    'min_tiles',
    `is ${shown(min)}; choose a model with 2 to max_tiles, ${max}`,
  );
}
