// SigLIP's encoder, whose images have a fixed size: patches with learned positions pass transformer layers and a norm.

import type { Tensor } from '../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linearAdd } from '../../kernels/matmul.ts';
import { affine } from '../affine.ts';
import { clipLayer } from '../text/clip/clip.ts';
import type { WeightTable } from '../weights.ts';
import type { SiglipConfig } from './siglip-config.ts';
import { tilesAtOnce } from '../tile-turns.ts';

/** `name`: prefix of the tensors, which ends with a dot. */
export function siglip(config: SiglipConfig, weights: WeightTable, name: string) {
  const { side, patch, hidden, ffn } = config;
  const count = Math.floor(side / patch) ** 2; // what is left of an image to the right and below is not seen
  const stored = [3, patch, patch];
  const embed = weights.matrix(`${name}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    stored,
  });
  const places = weights.table(`${name}embeddings.position_embedding.weight`, count, hidden);
  const encode = siglipLayers(config, weights, name);

  return {
    /** Images that pass the layers together. */
    atOnce: tilesAtOnce(count * Math.max(ffn, 3 * hidden)),
    /** patches [images, patches, 3 · patch²] → [images, patches, hidden] */
    run(patches: Tensor): Tensor {
      const images = patches.shape[0] as number;
      const table = takeRows(places.on(patches.tape!), 0, [count]);
      const positions = joinRows(
        Array.from({ length: images }, () => table),
        [images, count],
      );
      return encode(linearAdd(patches, embed, positions)); // [images, patches, hidden]
    },
  };
}

/** The layers and the norm behind them; x [images, patches, hidden], rotations [patches, dims] if there are any → [images, patches, hidden] */
export function siglipLayers(
  config: Pick<SiglipConfig, 'hidden' | 'ffn' | 'heads' | 'layers' | 'eps' | 'activation'>,
  weights: WeightTable,
  name: string,
) {
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${name}encoder.layers.${i}`, { causal: false }),
  );
  const norm = affine(weights, `${name}post_layernorm`, config.hidden);
  return (x: Tensor, rotations?: Tensor): Tensor =>
    layernorm(
      layers.reduce((y, layer) => layer(y, rotations), x),
      norm,
      config.eps,
    );
}
