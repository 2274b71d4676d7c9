// Converts the configuration of Gemma 3 to what its tower and its processor need. Only this file knows the key names.

import { readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { checkRows, processorPart } from '../processor-part.ts';
import { readSiglip, type SiglipConfig } from './siglip-config.ts';
import { checkSteps, HALVES, readPixelValues } from './pixel-values.ts';

export interface Gemma3VisionConfig extends SiglipConfig {
  /** Rows along a side of an image; each is the mean of a square of patches. */
  across: number;
  /** Columns of the result. */
  out: number;
}

export interface ScanRule {
  /** Least pixels along a side of a crop. */
  least: number;
  /** The most crops of an image. */
  most: number;
  /** Ratio of the sides from which an image is cropped. */
  ratio: number;
}

export type Gemma3Config = ReturnType<typeof readGemma3>;

export function readGemma3({ config: json, processors, hidden: out }: MediaFiles) {
  const config = readConfig('config.json', json);
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  checkSteps(processor, 'bilinear');
  const tower = readTower(config, out);
  checkSide(processor, tower);
  checkRows(processors, 'image_seq_length', { rows: tower.across ** 2, of: 'an image' });
  return {
    tower,
    tiles: { side: tower.side, patch: tower.patch, ...readPixelValues(processor, HALVES) },
    /** Crops of long images, which are shown behind the whole image; null: images are not cropped. */
    scan: processor.flag('do_pan_and_scan', false) ? scanOf(processor) : null,
  };
}

const scanOf = (processor: ConfigReader): ScanRule => ({
  least: processor.count('pan_and_scan_min_crop_size', 256),
  most: processor.count('pan_and_scan_max_num_crops', 4),
  ratio: processor.real('pan_and_scan_min_ratio_to_activate', 1.2),
});

/** Published files state the type of the tower, and that it pools nothing. */
function readTower(config: ConfigReader, out: number): Gemma3VisionConfig {
  config.part('vision_config').only({ model_type: ['siglip_vision_model'] });
  const siglip = readSiglip(config, { hidden: 768, heads: 12, patch: 16 });
  const rows = config.count('mm_tokens_per_image', 256);
  const across = Math.floor(Math.sqrt(rows));
  const patches = siglip.side / siglip.patch;
  if (across ** 2 === rows && patches % across === 0) return { ...siglip, across, out };
  const problem = `is ${rows}, and squares of as many do not divide ${patches} × ${patches} patches`;
  throw config.error('bad_checkpoint', 'mm_tokens_per_image', problem);
}

/** Throws unless images are resized to those of the tower. */
function checkSide(processor: ConfigReader, { side }: Gemma3VisionConfig): void {
  const size = processor.part('size');
  const [height, width] = [size.count('height', 224), size.count('width', 224)];
  if (height === side && width === side) return;
  const problem = `is ${height} × ${width}, and only images as large as the tower's, ${side} × ${side}, are built`;
  throw processor.error('unsupported', 'size', problem);
}
