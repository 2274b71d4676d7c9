// Converts the configuration of PaddleOCR-VL to what its tower and its processor need. Only this file knows the key names.

import { readConfig } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from '../qwen/qwen-processor-config.ts';
import { readSiglipEncoder, type SiglipConfig } from '../siglip-config.ts';

export interface PaddleVisionConfig extends SiglipConfig {
  /** Dimensions of a head. */
  dims: number;
  /** Positions along one side of the table of learned positions. */
  places: number;
  /** Patches along one side of a cell; each cell becomes one row of the result. */
  merge: number;
  /** Columns of the result. */
  out: number;
}

/** Sizes of transformers' configuration class. */
const SIZES = { intermediate_size: 4304, num_hidden_layers: 27, image_size: 384 };

export function readPaddleOcr({ config: json, processors, hidden: out }: MediaFiles): {
  tower: PaddleVisionConfig;
  processor: QwenProcessorConfig;
} {
  const stated = readConfig('config.json', json).part('vision_config');
  const config = stated.with({ ...SIZES, ...stated.values });
  config.part('rope_parameters').only({ rope_type: ['axial', 'default'], rope_theta: [10000] });
  const siglip = readSiglipEncoder(config, { hidden: 1152, heads: 16, patch: 14 });
  const images = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  images.only({ temporal_patch_size: [1] });
  const defaults = { minPixels: 384 ** 2, maxPixels: 1536 ** 2, frames: 1 };
  return {
    tower: {
      ...siglip,
      dims: siglip.hidden / siglip.heads,
      places: Math.floor(siglip.side / siglip.patch),
      merge: config.count('spatial_merge_size', 2),
      out,
    },
    processor: readQwenProcessorConfig(images, defaults),
  };
}
