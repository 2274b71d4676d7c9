// Converts the configuration of Phi-4-multimodal's images, as transformers saves it and as the published repository has it, whose tower has fixed
// sizes and needs no `vision_config`. Only this file knows the key names.

import { readConfig, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { HALVES, readPixelValues } from '../pixel-values.ts';
import { readSiglipEncoder, type SiglipConfig } from '../siglip-config.ts';
import { readTowerLayers } from '../tower-values.ts';
import type { CropRule } from './phi4-crops.ts';

export interface Phi4VisionConfig extends SiglipConfig {
  /** Layers that the checkpoint has; the last ones are not run. */
  stored: number;
  /** Columns of the language model's rows. */
  out: number;
  names: Phi4ImageNames;
}

/** Names of the modules behind the encoder. */
export interface Phi4ImageNames {
  up: string;
  down: string;
  /** Row that ends a line, and the one before the whole image. */
  line: string;
  whole: string;
}

const NAMES: Phi4ImageNames = {
  up: 'img_projection_up',
  down: 'img_projection_down',
  line: 'sub_img_feature_extensor',
  whole: 'global_img_feature_extensor',
};
const PUBLISHED_NAMES: Phi4ImageNames = {
  up: 'img_projection.0',
  down: 'img_projection.2',
  line: 'sub_GN',
  whole: 'glb_GN',
};

/** Of transformers' Phi4MultimodalVisionConfig, and of the published code. */
const SIZES = {
  hidden_size: 1152,
  intermediate_size: 4304,
  num_hidden_layers: 27,
  num_attention_heads: 16,
  image_size: 448,
  patch_size: 14,
};
/** What the published code does with the rows of an image. */
const EMBEDDED = {
  crop_size: [448],
  hd_transform_order: ['sub_glb'],
  image_token_compression_cls: ['avg_pool_2d'],
  projection_cls: ['mlp'],
  use_hd_transform: [true],
  with_learnable_separator: [true],
  freeze_img_processor: [false, true],
  type_feature: ['patch'],
};

export interface Phi4Images {
  tower: Phi4VisionConfig;
  crops: CropRule;
}

/** Throws unsupported for settings that are not computed. */
export function readPhi4Images(files: MediaFiles): Phi4Images {
  const config = readConfig('config.json', files.config);
  const isPublished = config.values['model_type'] === 'phi4mm';
  const vision = readVision(config, files.hidden, isPublished);
  const processor = processorPart(files.processors, 'image_processor', 'preprocessor_config.json');
  processor.only({
    image_processor_type: ['Phi4MultimodalImageProcessor', 'Phi4MMImageProcessor'],
    do_convert_rgb: [true],
    do_rescale: [true],
    do_normalize: [true],
    resample: [3],
    patch_size: [vision.patch],
  });
  for (const key of ['height', 'width'] as const) {
    const size = processor.part('size').count(key, vision.side);
    if (size !== vision.side)
      throw processor.error('unsupported', 'size', `is ${size}, and the tower's images have ${vision.side}`);
  }
  return {
    tower: vision,
    crops: {
      ...readPixelValues(processor, HALVES),
      side: vision.side,
      patch: vision.patch,
      most: processor.count('dynamic_hd', 36),
      rowsFirst: !isPublished,
    },
  };
}

function readVision(config: ConfigReader, out: number, isPublished: boolean): Phi4VisionConfig {
  const stated = config.part('vision_config');
  const vision = stated.with({ ...SIZES, ...stated.values });
  const siglip = readSiglipEncoder(vision, { hidden: SIZES.hidden_size, heads: 16, patch: 14 });
  const { side, patch } = siglip;
  if (side % (2 * patch) !== 0) {
    const problem = `is ${side}, which is no even number of patches of ${patch} pixels`;
    throw vision.error('unsupported', 'image_size', problem);
  }
  if (isPublished)
    config
      .part('embd_layer')
      .part('image_embd_layer')
      .only({ ...EMBEDDED, crop_size: [side] });
  vision.only({ crop_size: [side] });
  const chosen = isPublished
    ? config.part('img_processor').values['layer_idx']
    : vision.values['feature_layer'];
  const layers = readTowerLayers(vision.with({ select_layer: chosen ?? -2 }), 'select_layer', {
    all: siglip.layers,
    fallback: -2,
  });
  return { ...siglip, layers, stored: siglip.layers, out, names: isPublished ? PUBLISHED_NAMES : NAMES };
}
