// Converts the configuration of an InternVL, in the layout of transformers or in that of its own program, to what its tower and its
// processors need. Only this file and intern-vit-config.ts know the key names.

import { isJsonObject, readConfig, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { readInternVit, type InternLayout } from './intern-vit-config.ts';
import type { InternTowerConfig } from './intern-vit.ts';
import type { FrameRule } from './internvl-frames.ts';
import { checkRows, processorPart } from '../../processor-part.ts';
import type { TileConfig } from '../tiles.ts';
import { CLIP_COLOURS, checkSteps, readPixelValues, type Colours } from '../pixel-values.ts';
import type { TileBounds } from '../tile-grid.ts';
import { readTowerLayers } from '../tower-values.ts';

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
export const INTERNVL_COLOURS: Colours = { means: [0.485, 0.456, 0.406], spreads: [0.229, 0.224, 0.225] };
/** That of the original program. Transformers takes all frames where its configuration names no number. */
const FRAMES: FrameRule = { most: 32, fps: null, shift: null };
const ACTIVATIONS = { gelu: 'gelu', gelu_pytorch_tanh: 'gelu-tanh' } as const;
export function readInternVl(files: MediaFiles): InternVlConfig {
  const { config: json } = files;
  return isJsonObject(json['llm_config']) ? readOriginal(files) : readTransformers(files);
}

/** InternVLForConditionalGeneration */
function readTransformers({ config: json, processors, hidden }: MediaFiles): InternVlConfig {
  const config = readConfig('config.json', json);
  config.only({ vision_feature_select_strategy: ['default'] });
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  checkSteps(processor, 'bicubic');
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
  const tiles = { side, patch: tower.vit.patch, ...readPixelValues(processor, CLIP_COLOURS) };
  return {
    tower,
    tiles,
    bounds: { min: processor.count('min_patches', 1), max: processor.count('max_patches', 12) },
    whole: true,
    rows,
    ...videoSettings(processors, tiles),
  };
}

/** Without settings of its own, a video is prepared like images. */
function videoSettings(
  processors: MediaFiles['processors'],
  tiles: TileConfig,
): Pick<InternVlConfig, 'frames' | 'frameTiles'> {
  const video = processorPart(processors, 'video_processor', 'video_preprocessor_config.json');
  if (Object.keys(video.values).length === 0) return { frames: FRAMES, frameTiles: tiles };
  checkSteps(video, 'bicubic', { do_convert_rgb: [true], do_center_crop: [false] });
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
  return { frames, frameTiles: { ...tiles, ...readPixelValues(video, CLIP_COLOURS) } };
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
  const tiles = { side, patch: tower.vit.patch, scale: 1 / 255, ...INTERNVL_COLOURS };
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
  const layers = readTowerLayers(config, layerKey, { all: vit.allLayers, fallback: -1 });
  const lastNorm = vit.lastNorm && layers === vit.allLayers;
  return { vit: { ...vit, layers, lastNorm }, merge, ...settings };
}

function sideOf(processor: ConfigReader): number {
  const size = processor.part('size');
  const [height, width] = [size.count('height', 384), size.count('width', 384)];
  if (height === width) return height;
  throw processor.error('unsupported', 'size', `is ${width} × ${height}, and only square tiles are built`);
}
