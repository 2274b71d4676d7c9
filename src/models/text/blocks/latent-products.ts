// The products that keys and values of all heads are of latents. Checkpoints have them as one matrix, GGUF files as two, that of keys with a column for each
// dimension of the latent.

import type { Tensor } from '../../../gpu/tensor.ts';
import { headLinear, headLinearAcross } from '../../../kernels/head-linear.ts';
import type { LatentProducts } from '../../../kernels/expanded-attention.ts';
import type { HeadRows } from '../../../kernels/expanded-kv.ts';
import type { LatentShape } from '../../../kernels/latent-kv.ts';
import { linear } from '../../../kernels/matmul.ts';
import { GROUP, sideBySide, type Matrix } from '../../../kernels/matrix.ts';
import { groupsOf } from '../../../kernels/matrix-windows.ts';
import type { WeightTable } from '../../weights.ts';

export function latentProducts(shape: LatentShape, weights: WeightTable, name: string): LatentProducts {
  const { heads, plain, values, rank, scale } = shape;
  const result = (y: Tensor | null) => y && { y, scale: 1 };
  const keys = `${name}.k_b_proj.weight`;
  if (!weights.has(keys)) {
    const both = weights.heads(`${name}.kv_b_proj.weight`, heads, plain + values, rank);
    return {
      absorb: (q, y) => headLinearAcross(q, both, { first: 0, count: plain }, { y, scale }),
      expand: (mixed, y) => headLinear(mixed, both, { first: plain, count: values }, result(y)),
      keysAndValues(latents) {
        const rows = headRows(latents, both);
        return { keys: rows, values: { ...rows, first: plain } };
      },
    };
  }
  const turned = weights.heads(keys, heads, rank, plain);
  const own = weights.heads(`${name}.v_b_proj.weight`, heads, values, rank);
  return {
    absorb: (q, y) => headLinear(q, turned, { first: 0, count: rank }, { y, scale }),
    expand: (mixed, y) => headLinear(mixed, own, { first: 0, count: values }, result(y)),
    keysAndValues(latents) {
      const columns = { first: 0, count: rank, isShared: true };
      const x = headLinearAcross(latents, turned, columns); //  [tokens, heads · plain]
      return { keys: { x, each: plain, first: 0 }, values: headRows(latents, own) };
    },
  };
}

/** Products of the same latents with the matrices of all heads, side by side. */
function headRows(latents: Tensor, weights: Matrix): HeadRows {
  return { x: linear(latents, sideBySide(weights)), each: GROUP * groupsOf(weights.columns), first: 0 };
}
