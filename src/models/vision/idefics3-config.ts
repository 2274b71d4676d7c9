// Converts the configuration of Idefics3 and SmolVLM to what their tower and their processor need. Only this file knows the key names.

import { readConfig, type ConfigReader } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { checkRows, processorPart } from '../processor-part.ts';
import { readSiglip, type SiglipConfig } from './siglip-config.ts';
import { checkSteps, HALVES, readPixelValues } from './pixel-values.ts';

export interface Idefics3VisionConfig extends SiglipConfig {
  /** Patches along a side of a cell; each cell becomes one row of the result. */
  merge: number;
  /** Columns of the result. */
  out: number;
}

export type Idefics3Config = ReturnType<typeof readIdefics3>;

export function readIdefics3({ config: json, processors, hidden: out }: MediaFiles) {
  const config = readConfig('config.json', json);
  const processor = processorPart(processors, 'image_processor', 'preprocessor_config.json');
  checkSteps(processor, 'lanczos');
  const tower = readTower(config, out);
  const side = longestEdge(processor, 'max_image_size', 364);
  if (side !== tower.side) {
    const problem = `has a longest_edge of ${side}, and only tiles as large as the tower's images, ${tower.side}, are built`;
    throw processor.error('unsupported', 'max_image_size', problem);
  }
  const rows = (side / tower.patch / tower.merge) ** 2;
  checkRows(processors, 'image_seq_len', { rows: rows, of: 'a tile' });
  return {
    tower,
    tiles: { side, patch: tower.patch, ...readPixelValues(processor, HALVES) },
    /** Pixels of the longest side of an image before it is divided. */
    longest: longestEdge(processor, 'size', 4 * 364),
    /** Whether images larger than a tile are divided. */
    splits: processor.flag('do_image_splitting', true),
    /** Rows of a tile. */
    rows,
  };
}

function readTower(outer: ConfigReader, out: number): Idefics3VisionConfig {
  const siglip = readSiglip(outer, { hidden: 1152, heads: 16, patch: 32 });
  const { side, patch } = siglip;
  const merge = outer.count('scale_factor', 2);
  if (side % (patch * merge) !== 0) {
    const problem = `is ${merge}, which does not divide tiles of ${side} pixels in patches of ${patch}`;
    throw outer.error('bad_checkpoint', 'scale_factor', problem);
  }
  return { ...siglip, merge, out };
}

export const longestEdge = (config: ConfigReader, key: string, otherwise: number): number =>
  config.part(key).count('longest_edge', otherwise);
