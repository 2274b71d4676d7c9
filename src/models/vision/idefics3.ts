// The vision tower of Idefics3 and SmolVLM: each tile of an image passes SigLIP's transformer layers, neighbouring patches are merged, and
// one product makes them rows for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { patchify } from '../../kernels/patchify.ts';
import { affine } from '../affine.ts';
import { clipLayer } from '../text/clip.ts';
import type { WeightTable } from '../weights.ts';
import type { Idefics3VisionConfig } from './idefics3-config.ts';
import { inTurns, tilesAtOnce } from './tile-turns.ts';

/** patches [tiles, patches, 3 · patch²] → rows tile by tile, cell by cell, [1, tiles · cells, out] */
export type Idefics3Tower = (patches: Tensor) => Tensor;

export function idefics3Tower(config: Idefics3VisionConfig, weights: WeightTable): Idefics3Tower {
  const { side, patch, hidden, ffn, eps, merge, out } = config;
  const across = side / patch;
  const count = across ** 2;
  const atOnce = tilesAtOnce(count * Math.max(ffn, 3 * hidden));
  const name = 'vision_model.';
  const stored = [3, patch, patch];
  const embed = weights.matrix(`${name}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    stored,
  });
  const places = weights.table(`${name}embeddings.position_embedding.weight`, count, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${name}encoder.layers.${i}`, { causal: false }),
  );
  const norm = affine(weights, `${name}post_layernorm`, hidden);
  const project = weights.matrix('connector.modality_projection.proj.weight', out, merge ** 2 * hidden);

  return (patches) => {
    const rows = inTurns(patches, atOnce, (some) => {
      const tiles = some.shape[0] as number;
      const table = takeRows(places.on(some.tape!), 0, [count]);
      const positions = joinRows(
        Array.from({ length: tiles }, () => table),
        [tiles, count],
      );
      let x = linearAdd(some, embed, positions); //                   [tiles, patches, hidden]
      for (const run of layers) x = run(x);
      const grid = takeRows(layernorm(x, norm, eps), 0, [tiles, across, across]);
      return linear(patchify(grid, { size: merge, order: 'pqc' }), project);
    });
    return joinRows(rows, [1, ((patches.shape[0] as number) * count) / merge ** 2]);
  };
}
