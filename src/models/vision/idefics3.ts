// The vision tower of Idefics3 and SmolVLM: each tile of an image passes SigLIP's encoder, neighbouring patches are merged, and one product
// makes them rows for the language model.

import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { linear } from '../../kernels/matmul.ts';
import { patchify } from '../../kernels/patchify.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { Idefics3VisionConfig } from './idefics3-config.ts';
import { siglip } from './siglip.ts';
import { inTurns } from '../tile-turns.ts';

/** Inputs: `patches` [tiles, patches, 3 · patch²]. → rows tile by tile, cell by cell, [1, tiles · cells, out] */
export function idefics3Tower(config: Idefics3VisionConfig, weights: WeightTable): Tower {
  const { side, patch, hidden, merge, out } = config;
  const across = side / patch;
  const { run, atOnce } = siglip(config, weights, 'vision_model.');
  const project = weights.matrix('connector.modality_projection.proj.weight', out, merge ** 2 * hidden);

  return ({ patches }) => {
    const rows = inTurns(patches!, atOnce, (some) => {
      const grid = takeRows(run(some), 0, [some.shape[0] as number, across, across]);
      return linear(patchify(grid, { size: merge, order: 'pqc' }), project);
    });
    return [joinRows(rows, [1, ((patches!.shape[0] as number) * across ** 2) / merge ** 2])];
  };
}
