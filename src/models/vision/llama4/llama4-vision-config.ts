// Converts the configuration of Llama 4's tower and of its processor to what they compute with. Only this file knows the key names.

import { checkHeads, readConfig, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { checkSteps, HALVES, readPixelValues } from '../pixel-values.ts';
import type { TileConfig } from '../tiles.ts';
import { readSquare } from '../tower-values.ts';

export interface Llama4VisionConfig {
  /** Pixels along a side of a tile, and of a patch. */
  side: number;
  patch: number;
  hidden: number;
  ffn: number;
  heads: number;
  layers: number;
  theta: number;
  /** Patches along a side of a cell; each cell becomes one row of the result. */
  merge: number;
  /** Columns between the two products on cells, and behind them. */
  adapted: number;
  /** Columns of the result. */
  out: number;
}

export interface Llama4ImageConfig {
  tiles: TileConfig;
  /** Most tiles of an image, the one that shows all of it aside. */
  most: number;
  /** Whether images are enlarged as far as their canvas allows. */
  fills: boolean;
  /** Rows of a tile. */
  rows: number;
}

export function readLlama4Vision(files: MediaFiles): {
  tower: Llama4VisionConfig;
  images: Llama4ImageConfig;
} {
  const tower = readTower(readConfig('config.json', files.config).part('vision_config'), files.hidden);
  return { tower, images: readImages(files.processors, tower) };
}

function readTower(config: ConfigReader, out: number): Llama4VisionConfig {
  config.only({ model_type: ['llama4_vision_model'], num_channels: [3], hidden_act: ['gelu'] });
  const hidden = config.count('hidden_size', 768);
  const heads = checkHeads('vision_config', hidden, config.count('num_attention_heads', 16));
  const merge = readMerge(config);
  const ffn = config.count('intermediate_size', 5632);
  const adapted = config.count('projector_output_dim', 4096);
  config.only({
    // The first product on cells takes as many columns as a cell has, and the others those before them.
    intermediate_size: [merge ** 2 * hidden],
    projector_input_dim: [adapted],
    vision_output_dim: [adapted],
  });
  const [side, patch] = [readSquare(config, 'image_size', 448), readSquare(config, 'patch_size', 14)];
  if (side % (patch * merge) !== 0)
    throw config.error(
      'unsupported',
      'image_size',
      `is ${side}; choose a model with a multiple of ${patch * merge} pixels`,
    );
  const rope = config.part('rope_parameters');
  rope.only({ rope_type: ['default', 'axial'] });
  const theta = rope.real('rope_theta', config.real('rope_theta', 10000));
  const layers = config.count('num_hidden_layers', 34);
  return { side, patch, hidden, ffn, heads, layers, theta, merge, adapted, out };
}

/** Patches along a side of a cell, which files state as the inverse. */
function readMerge(config: ConfigReader): number {
  const ratio = config.real('pixel_shuffle_ratio', 0.5);
  const merge = Math.round(1 / ratio);
  if (merge * ratio === 1) return merge;
  throw config.error(
    'unsupported',
    'pixel_shuffle_ratio',
    `is ${ratio}; choose a model whose cells have whole patches, such as 0.5`,
  );
}

function readImages(
  processors: MediaFiles['processors'],
  { side, patch, merge }: Llama4VisionConfig,
): Llama4ImageConfig {
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  checkSteps(processor, 'bilinear');
  const size = processor.part('size');
  for (const key of ['height', 'width'] as const) {
    const stated = size.count(key, 336);
    if (stated !== side)
      throw size.error('unsupported', key, `is ${stated}, and only the tower's tiles of ${side} are built`);
  }
  const texts = readConfig('processor_config.json', processors['processor_config.json'] ?? {});
  texts.only({ patch_size: [patch], pixel_shuffle_ratio: [1 / merge] });
  return {
    tiles: { side, patch, ...readPixelValues(processor, HALVES), isBf16: true },
    most: processor.count('max_patches', 16),
    fills: processor.flag('resize_to_max_canvas', false),
    rows: (side / patch / merge) ** 2,
  };
}
