// The vision tower of Gemma 3: an image passes SigLIP's encoder, each row is the mean of a square of patches, and a norm and one product
// make the rows fit for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { linear } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { Gemma3VisionConfig } from './gemma3-config.ts';
import { siglip } from './siglip.ts';
import { inTurns } from '../tile-turns.ts';

const PROJECTOR = 'multi_modal_projector.';
/** Stored as [hidden, out]. */
export const GEMMA3_PROJECTION = `${PROJECTOR}mm_input_projection_weight`;
/** Files of transformers 4 and 5. */
const PREFIXES = ['vision_tower.vision_model.', 'vision_tower.'] as const;

/**
 * Inputs: `patches` [images, patches, 3 · patch²]; `sources` and `shares` [rows, patches of a row], the patches of each row of an image and
 * their shares of it. → rows image by image, [1, images · rows, out]
 */
export function gemma3Tower(config: Gemma3VisionConfig, weights: WeightTable): Tower {
  const { hidden, eps, across, out } = config;
  const name = PREFIXES.find((one) => weights.has(`${one}post_layernorm.weight`)) ?? PREFIXES[0];
  const { run, atOnce } = siglip(config, weights, name);
  const norm = weights.vector(`${PROJECTOR}mm_soft_emb_norm.weight`, hidden, { plus: 1 });
  const project = weights.matrix(GEMMA3_PROJECTION, out, hidden);
  // Towers that were trained for other tasks have a head that pools.
  weights.ignore(/^vision_tower\.(vision_model\.)?head\./);

  return (inputs) => {
    const { patches, sources, shares } = inputs as Record<'patches' | 'sources' | 'shares', Tensor>;
    const rows = inTurns(patches, atOnce, (some) => {
      const [images, count] = some.shape as [number, number];
      const states = run(some);
      const means = Array.from({ length: images }, (_, i) =>
        mixRows(takeRows(states, i * count, [count]), sources, shares),
      );
      return linear(rmsnorm(joinRows(means, [images, across ** 2]), norm, eps), project);
    });
    return [joinRows(rows, [1, (patches.shape[0] as number) * across ** 2])];
  };
}

/** Patches of each row, square by square, and their shares. */
export function meanOfSquares({ side, patch, across }: Gemma3VisionConfig): {
  shape: [rows: number, taps: number];
  sources: Uint32Array<ArrayBuffer>;
  shares: Float32Array<ArrayBuffer>;
} {
  const patches = side / patch;
  const size = patches / across;
  const taps = size ** 2;
  const sources = Uint32Array.from({ length: across ** 2 * taps }, (_, i) => {
    const [row, tap] = [Math.floor(i / taps), i % taps];
    const y = Math.floor(row / across) * size + Math.floor(tap / size);
    return y * patches + (row % across) * size + (tap % size);
  });
  return { shape: [across ** 2, taps], sources, shares: new Float32Array(sources.length).fill(1 / taps) };
}
