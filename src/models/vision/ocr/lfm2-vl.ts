// The vision tower of LFM2-VL: tiles and the whole image pass SigLIP 2's encoder, neighbouring patches are merged, and two products make them rows
// for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { affine } from '../../affine.ts';
import type { Tower } from '../../media.ts';
import { inTurns } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import type { Lfm2VisionConfig } from './lfm2-vl-config.ts';
import { placesOn, type PatchRows } from '../resized-places.ts';
import { siglip2 } from './siglip2.ts';

/** Tiles of one grid of patches. */
export interface Lfm2Group extends PatchRows {
  tiles: number;
}

const EPS = 1e-5;
/** Files of transformers 4 and 5. */
const PREFIXES = ['vision_tower.vision_model.', 'vision_tower.'] as const;

/**
 * Inputs: `patches` [all patches, patch² · 3] group by group, tile by tile, and the places of each group; the layout is Lfm2Group[]. → rows
 * cell by cell, [1, cells, out]
 */
export function lfm2Vision(config: Lfm2VisionConfig, weights: WeightTable): Tower {
  const { merge } = config;
  const name = PREFIXES.find((one) => weights.has(`${one}post_layernorm.weight`)) ?? PREFIXES[0];
  const { atOnce, positions, run } = siglip2(config, weights, name);
  const project = projector(config, weights);
  // Towers that were trained for other tasks have a head that pools.
  weights.ignore(/^vision_tower\.(vision_model\.)?head\./);

  return (inputs, layout) => {
    let first = 0;
    const rows = (layout as readonly Lfm2Group[]).flatMap(({ tiles, ...grid }, i) => {
      const count = grid.rows * grid.columns;
      const own = takeRows(inputs['patches']!, first, [tiles, count]);
      first += tiles * count;
      const table = positions(placesOn(inputs, `group${i}`));
      return inTurns(own, atOnce(count), (some) => {
        const image = takeRows(run(some, table), 0, [some.shape[0] as number, grid.rows, grid.columns]);
        return project(patchify(image, { size: merge, order: 'pqc' }));
      });
    });
    return [joinRows(rows, [1, first / merge ** 2])];
  };
}

/** x [tiles, cells, merge² · hidden] → [tiles, cells, out] */
function projector({ hidden, merge, projector, out }: Lfm2VisionConfig, weights: WeightTable) {
  const { columns, activation, bias } = projector;
  const [name, cell] = ['multi_modal_projector', merge ** 2 * hidden];
  const norm = projector.norm ? affine(weights, `${name}.layer_norm`, cell) : null;
  const first = weights.matrix(`${name}.linear_1.weight`, columns, cell, { bias });
  const second = weights.matrix(`${name}.linear_2.weight`, out, columns, { bias });
  return (x: Tensor): Tensor =>
    linear(linear(norm ? layernorm(x, norm, EPS) : x, first, { activation }), second);
}
