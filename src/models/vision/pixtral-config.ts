// Converts the configurations of Pixtral, Mistral 3 and LightOnOCR in transformers' classes to what their tower and their processor need.
// Only this file knows the key names.

import { checkHeads, readConfig, shown, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { processorPart } from '../processor-part.ts';
import { CLIP_COLOURS, checkSteps, readPixelValues } from './pixel-values.ts';
import type { PatchConfig } from './tiles.ts';
import { readSquare, readTowerLayers } from './tower-values.ts';

export interface PixtralConfig {
  tower: PixtralVisionConfig;
  patches: PatchConfig;
  /** Pixels along a side of a cell, which is one token. */
  cell: number;
  /** Pixels of which the sides of images are multiples. */
  unit: number;
  /** Most pixels of the sides of an image. */
  most: { width: number; height: number };
}

/** What differs between the classes where config.json is silent. */
interface ClassDefaults {
  hasMerger: boolean;
  layer: number;
  bias: boolean;
  patch: number;
  /** Names of the modules, with a dot at the end. */
  modules: { tower: string; projector: string };
}

const MODULES = { tower: 'vision_tower.', projector: 'multi_modal_projector.' };
const LLAVA: ClassDefaults = { hasMerger: false, layer: -2, bias: true, patch: 16, modules: MODULES };
const MISTRAL3: ClassDefaults = { hasMerger: true, layer: -1, bias: false, patch: 14, modules: MODULES };
const LIGHT_ON: ClassDefaults = {
  ...MISTRAL3,
  modules: { tower: 'vision_encoder.', projector: 'vision_projection.' },
};
const GATES = { silu: 'silu', gelu: 'gelu' } as const;
const ACTIVATIONS = { gelu: 'gelu', gelu_pytorch_tanh: 'gelu-tanh', silu: 'silu' } as const;
const PROCESSED = { do_convert_rgb: [true], do_center_crop: [false] };

/** LlavaForConditionalGeneration; throws unsupported for towers that are not Pixtral's. */
export function readPixtral(files: MediaFiles): PixtralConfig {
  const config = readConfig('config.json', files.config);
  const vision = config.part('vision_config');
  const type = vision.values['model_type'] ?? 'clip_vision_model';
  if (type !== 'pixtral') {
    const problem = `is ${shown(type)}, and of this class only towers of Pixtral are built: images are refused`;
    throw vision.error('unsupported', 'model_type', problem);
  }
  config.only({ vision_feature_select_strategy: ['full'] });
  if (config.values['vision_feature_select_strategy'] == null) throw noFirstPatch(config);
  return readFiles(files, LLAVA);
}

/** Left out, the strategy drops the first patch of an image, which leaves fewer rows than tokens. */
function noFirstPatch(config: ConfigReader) {
  const problem = 'is left out, which means default; a tower of Pixtral needs full';
  return config.error('unsupported', 'vision_feature_select_strategy', problem);
}

/** Mistral3ForConditionalGeneration */
export function readMistral3(files: MediaFiles): PixtralConfig {
  return readFiles(files, MISTRAL3);
}

/** LightOnOcrForConditionalGeneration, whose images have no tokens that end rows of cells. */
export function readLightOnOcr(files: MediaFiles): PixtralConfig {
  // Transformers' classes before version 5 named the parts otherwise.
  readConfig('config.json', files.config)
    .part('vision_config')
    .only({ model_type: ['pixtral', 'lightonocr_vision'] });
  const config = readFiles(files, LIGHT_ON);
  const processor = imageProcessor(files);
  const unit = sideOf(processor, 'patch_size', 16);
  if (unit % config.tower.patch === 0) return { ...config, unit };
  const problem = `is ${unit}, and the tower's patches have ${config.tower.patch} pixels along a side: take the values that the model was published with`;
  throw processor.error('bad_checkpoint', 'patch_size', problem);
}

function sideOf(processor: ConfigReader, key: 'patch_size', fallback: number): number {
  const size = processor.part(key);
  if (size.values['height'] == null) return readSquare(processor, key, fallback);
  size.only({ width: [size.values['height']] });
  return size.count('height');
}

const imageProcessor = ({ processors }: MediaFiles): ConfigReader =>
  processorPart(processors, 'image_processor', 'preprocessor_config.json');

function readFiles(files: MediaFiles, own: ClassDefaults): PixtralConfig {
  const config = readConfig('config.json', files.config);
  const processor = imageProcessor(files);
  checkSteps(processor, 'bicubic', PROCESSED);
  const tower = readTower(config, own, files.hidden);
  checkTexts(files.processors, tower);
  const cell = tower.patch * (tower.merger?.merge ?? 1);
  return {
    tower,
    patches: { patch: tower.patch, ...readPixelValues(processor, CLIP_COLOURS) },
    ...{ cell, unit: cell },
    most: mostOf(processor),
  };
}

export type PixtralVisionConfig = ReturnType<typeof readTower>;

function readTower(config: ConfigReader, own: ClassDefaults, out: number) {
  const vision = config.part('vision_config');
  vision.only({ num_channels: [3] });
  const hidden = vision.count('hidden_size', 1024);
  const heads = checkHeads('vision_config', hidden, vision.count('num_attention_heads', 16));
  const merge = config.count('spatial_merge_size', 2);
  const allLayers = vision.count('num_hidden_layers', 24);
  return {
    modules: own.modules,
    /** Pixels along a side of a patch. */
    patch: readSquare(vision, 'patch_size', own.patch),
    hidden,
    ffn: vision.count('intermediate_size', 4096),
    heads,
    /** Dimensions of a head. */
    dims: hidden / heads,
    /** Layers that are computed, of those that there are. */
    layers: readTowerLayers(config, 'vision_feature_layer', { all: allLayers, fallback: own.layer }),
    allLayers,
    theta: thetaOf(vision),
    gate: vision.choice('hidden_act', GATES, 'gelu'),
    /** Patches along a side of a cell, and eps of the norm before they are merged; null: each patch is one row of the result. */
    merger: own.hasMerger ? { merge, eps: config.part('text_config').real('rms_norm_eps', 1e-5) } : null,
    /** Of the projector. */
    activation: config.choice('projector_hidden_act', ACTIVATIONS, 'gelu'),
    bias: config.flag('multimodal_projector_bias', own.bias),
    /** Columns of the result. */
    out,
  };
}

/** Files of transformers 5 have it among the rope parameters. */
function thetaOf(vision: ConfigReader): number {
  const rope = vision.part('rope_parameters');
  rope.only({ rope_type: ['axial', 'default'] });
  return rope.real('rope_theta', vision.real('rope_theta', 10000));
}

/** `longest_edge` bounds both sides, `height` and `width` each its own. */
function mostOf(processor: ConfigReader): PixtralConfig['most'] {
  const size = processor.part('size');
  const isBySide = size.values['longest_edge'] == null && size.values['height'] != null;
  if (isBySide) return { height: size.count('height'), width: size.count('width') };
  const longest = size.count('longest_edge', 1024);
  return { height: longest, width: longest };
}

/** Throws where the processor was saved for other patches, because its texts would not fit the tower, or writes other tokens. */
function checkTexts(
  processors: MediaFiles['processors'],
  { patch, merger }: Pick<PixtralVisionConfig, 'patch' | 'merger'>,
): void {
  const config = readConfig('processor_config.json', processors['processor_config.json'] ?? {});
  config.only({
    image_token: ['[IMG]'],
    image_break_token: ['[IMG_BREAK]'],
    image_end_token: ['[IMG_END]'],
  });
  for (const [key, own] of [
    ['patch_size', patch],
    ['spatial_merge_size', merger?.merge ?? 1],
  ] as const) {
    const stated = config.count(key, own);
    if (stated !== own)
      throw config.error(
        'bad_checkpoint',
        key,
        `is ${stated}, and the tower of config.json has ${own}: take the values that the model was published with`,
      );
  }
}
