// SigLIP 2's encoder, whose images have any number of patches along a side: learned positions of a square are resized to each grid as an image is,
// by triangles that are wider where the grid is smaller.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { linearAdd } from '../../../kernels/matmul.ts';
import { tilesAtOnce } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import { resizedPlaces, type PlaceInputs } from '../resized-places.ts';
import type { SiglipConfig } from '../siglip-config.ts';
import { siglipLayers } from '../siglip.ts';

export type Siglip2Config = Omit<SiglipConfig, 'side'> & {
  /** Positions along a side of the table. */
  places: number;
  /** Whether the columns of a patch are channel by channel, in place of pixel by pixel. */
  byChannels: boolean;
};

/** `name`: prefix of the tensors, which ends with a dot. */
export function siglip2(config: Siglip2Config, weights: WeightTable, name: string) {
  const { places, patch, hidden, ffn, byChannels } = config;
  const embed = weights.matrix(`${name}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    ...(byChannels && { stored: [3, patch, patch] }),
  });
  const table = weights.table(`${name}embeddings.position_embedding.weight`, places ** 2, hidden);
  const encode = siglipLayers(config, weights, name);

  return {
    /** Images of so many patches that pass the layers together. */
    atOnce: (count: number): number => tilesAtOnce(count * Math.max(ffn, 3 * hidden)),
    /** Positions of a grid, [patches, hidden] */
    positions: (inputs: PlaceInputs): Tensor => resizedPlaces(table.on(inputs.down.sources.tape!), inputs),
    /** patches [images, patches, 3 · patch²], all of one grid → [images, patches, hidden] */
    run(patches: Tensor, positions: Tensor): Tensor {
      const images = Array.from({ length: patches.shape[0] as number }, () => positions);
      return encode(linearAdd(patches, embed, joinRows(images, patches.shape.slice(0, -1) as number[])));
    },
  };
}
