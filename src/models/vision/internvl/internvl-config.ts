// Converts the configuration of an InternVL, in the layout of transformers or in that of its own program, to what its tower and its
// processors need. Only this file and intern-vit-config.ts know the key names.

import { isJsonObject, readConfig, shown, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { readInternVit, type InternLayout } from './intern-vit-config.ts';
import type { InternTowerConfig } from './intern-vit.ts';
import type { FrameRule } from './internvl-frames.ts';
import { checkRows, processorPart } from '../../processor-part.ts';
import type { TileConfig } from '../tiles.ts';
import type { TileBounds } from '../tile-grid.ts';
import { CLIP_MEANS, CLIP_SPREADS } from '../clip-colours.ts';

export interface InternVlConfig {
  tower: InternTowerConfig;
  tiles: TileConfig;
  /** Numbers of tiles of an image where the request says nothing. */
  bounds: TileBounds;
  /** Whether several tiles are followed by the whole image. */
  whole: boolean;
  /** Rows of a tile. */
  rows: number;
  /** Of frames of videos; sides are those of images. */
  frameTiles: TileConfig;
  frames: FrameRule;
}

/** ImageNet's, with which all published models were trained. */
export const INTERNVL_MEANS = [0.485, 0.456, 0.406];
export const INTERNVL_SPREADS = [0.229, 0.224, 0.225];
/** That of the original program. Transformers takes all frames where its configuration names no number. */
const FRAMES: FrameRule = { most: 32, fps: null, shift: null };
const ACTIVATIONS = { gelu: 'gelu', gelu_pytorch_tanh: 'gelu-tanh' } as const;
/** 3 is Pillow's bicubic filter. */
const PROCESSED = {
  do_resize: [true],
  do_rescale: [true],
  do_normalize: [true],
  do_convert_rgb: [true],
  resample: [3],
};

export function readInternVl(files: MediaFiles): InternVlConfig {
  const { config: json } = files;
  return isJsonObject(json['llm_config']) ? readOriginal(files) : readTransformers(files);
}

/** InternVLForConditionalGeneration */
function readTransformers({ config: json, processors, hidden }: MediaFiles): InternVlConfig {
  const config = readConfig('config.json', json);
  config.only({ vision_feature_select_strategy: ['default'] });
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  processor.only(PROCESSED);
  const side = sideOf(processor);
  const activation = config.choice('projector_hidden_act', ACTIVATIONS, 'gelu');
  const tower = towerOf(config, 'transformers', {
    side,
    activation,
    out: hidden,
    layerKey: 'vision_feature_layer',
  });
  const rows = (side / tower.vit.patch / tower.merge) ** 2;
  checkRows(processors, 'image_seq_length', { rows: rows, of: 'a tile' });
  const tiles = normalized(processor, { side, patch: tower.vit.patch });
  return {
    tower,
    tiles,
    bounds: { min: processor.count('min_patches', 1), max: processor.count('max_patches', 12) },
    whole: true,
    rows,
    ...videoSettings(processors, tiles),
  };
}

function normalized(processor: ConfigReader, sides: Pick<TileConfig, 'side' | 'patch'>): TileConfig {
  return {
    ...sides,
    scale: processor.real('rescale_factor', 1 / 255),
    means: processor.reals('image_mean', 3) ?? CLIP_MEANS,
    spreads: processor.reals('image_std', 3) ?? CLIP_SPREADS,
  };
}

/** Without settings of its own, a video is prepared like images. */
function videoSettings(
  processors: MediaFiles['processors'],
  tiles: TileConfig,
): Pick<InternVlConfig, 'frames' | 'frameTiles'> {
  const video = processorPart(processors, 'video_processor', 'video_preprocessor_config.json');
  if (Object.keys(video.values).length === 0) return { frames: FRAMES, frameTiles: tiles };
  video.only({ ...PROCESSED, do_center_crop: [false] });
  const side = sideOf(video);
  if (side !== tiles.side)
    throw video.error(
      'unsupported',
      'size',
      `is ${side}, and only frames in the size of tiles, ${tiles.side}, are built`,
    );
  const { initial_shift: shift } = video.values;
  const frames = {
    most: video.count('num_frames', FRAMES.most),
    fps: video.values['num_frames'] == null && video.values['fps'] != null ? video.real('fps') : null,
    shift:
      typeof shift === 'boolean' || shift == null
        ? shift === false
          ? 0
          : null
        : video.real('initial_shift'),
  };
  return { frames, frameTiles: normalized(video, tiles) };
}

/** InternVLChatModel */
function readOriginal({ config: json, hidden }: MediaFiles): InternVlConfig {
  const config = readConfig('config.json', json);
  // The first version transposes the cells; a configuration that names none has it.
  config.only({ pad2square: [false] });
  config.choice('ps_version', { v2: true }, 'v1');
  const vision = config.part('vision_config');
  const side = config.count('force_image_size', readInternVit(vision, 'original').side);
  const tower = towerOf(config, 'original', {
    side,
    activation: 'gelu',
    out: hidden,
    layerKey: 'select_layer',
  });
  const isDynamic = config.flag('dynamic_image_size', false);
  const max = isDynamic ? config.count('max_dynamic_patch', 6) : 1;
  const tiles = {
    side,
    patch: tower.vit.patch,
    scale: 1 / 255,
    means: INTERNVL_MEANS,
    spreads: INTERNVL_SPREADS,
  };
  return {
    tower,
    tiles,
    frameTiles: tiles,
    bounds: { min: Math.min(isDynamic ? config.count('min_dynamic_patch', 1) : 1, max), max },
    whole: config.flag('use_thumbnail', false),
    rows: (side / tower.vit.patch / tower.merge) ** 2,
    frames: FRAMES,
  };
}

interface TowerSettings extends Pick<InternTowerConfig, 'side' | 'activation' | 'out'> {
  layerKey: 'vision_feature_layer' | 'select_layer';
}

function towerOf(
  config: ConfigReader,
  layout: InternLayout,
  { layerKey, ...settings }: TowerSettings,
): InternTowerConfig {
  const ratio = config.real('downsample_ratio', 0.5);
  const merge = Math.round(1 / ratio);
  const vit = readInternVit(config.part('vision_config'), layout);
  const across = settings.side / vit.patch;
  if (merge * ratio !== 1 || !Number.isInteger(across) || across % merge !== 0) {
    const problem = `is ${ratio}, which does not divide tiles of ${settings.side} pixels in patches of ${vit.patch}`;
    throw config.error('bad_checkpoint', 'downsample_ratio', problem);
  }
  return { vit: withLayers(config, vit, layerKey), merge, ...settings };
}

/** The tower up to the layer whose states are taken: -1 means the last one, 0 the states before the first. */
function withLayers(
  config: ConfigReader,
  vit: InternTowerConfig['vit'],
  key: TowerSettings['layerKey'],
): InternTowerConfig['vit'] {
  const chosen = config.values[key] ?? -1;
  const layers = typeof chosen === 'number' && chosen < 0 ? vit.allLayers + 1 + chosen : chosen;
  if (typeof layers !== 'number' || !Number.isInteger(layers) || layers < 0 || layers > vit.allLayers) {
    const problem = `is ${shown(chosen)}, one layer of the tower's ${vit.allLayers} is needed`;
    throw config.error('bad_checkpoint', key, problem);
  }
  return { ...vit, layers, lastNorm: vit.lastNorm && layers === vit.allLayers };
}

function sideOf(processor: ConfigReader): number {
  const size = processor.part('size');
  const [height, width] = [size.count('height', 384), size.count('width', 384)];
  if (height === width) return height;
  throw processor.error('unsupported', 'size', `is ${width} × ${height}, and only square tiles are built`);
}
