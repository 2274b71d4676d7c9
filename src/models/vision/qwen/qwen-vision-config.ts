// Converts the vision_config of a Qwen2_5_VLForConditionalGeneration to the configuration of qwen-vision.ts. Only this file knows its
// key names.

import { checkHeads, readConfig, type Json } from '../../config-values.ts';

export type QwenVisionConfig = ReturnType<typeof readQwenVisionConfig>;

export function readQwenVisionConfig(json: Json, file = 'config.json') {
  const outer = readConfig(file, json);
  const config = outer.part('vision_config');
  config.only({ hidden_act: ['silu'] });
  const hidden = config.count('hidden_size', 3584);
  const heads = checkHeads(file, hidden, config.count('num_heads', 16));
  const patch = config.count('patch_size', 14);
  const merge = config.count('spatial_merge_size', 2);
  const size = config.count('window_size', 112);
  const window = Math.floor(size / merge / patch);
  if (window < 1) {
    const problem = `is ${size}, at least ${patch * merge} pixels are needed for a cell of ${merge} × ${merge} patches`;
    throw config.error('bad_checkpoint', 'window_size', problem);
  }
  return {
    hidden,
    heads,
    /** Dimensions of a head. */
    dims: hidden / heads,
    ffn: config.count('intermediate_size', 3420),
    layers: config.count('depth', 32),
    /** Columns of the result. */
    out: config.count('out_hidden_size', 3584),
    /** Channels of an image, and frames of a patch. */
    channels: config.count('in_channels', 3),
    frames: config.count('temporal_patch_size', 2),
    /** Pixels along one side of a patch. */
    patch,
    /** Patches along one side of a cell; each cell becomes one row of the result. */
    merge,
    /** Cells along one side of a window. */
    window,
    /** Layers in which all patches of an image attend to each other; in the others, those of a window. */
    whole: new Set(config.list('fullatt_block_indexes', [7, 15, 23, 31])),
  };
}
