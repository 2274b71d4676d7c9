// Rows of embeddings that are not in a model's matrix, in place of those of texts of a fixed number of tokens.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** Id of the first row of `extra`; above those of all models. */
export const FIRST_EXTRA_ID = 2 ** 24;

/**
 * y[row] = extra[id − FIRST_EXTRA_ID] + position, in place, for the rows with such ids; y [items, tokens, k], ids u32 [items, tokens],
 * extra [rows, k], positions [at least tokens, k] → y
 */
export function embedExtra(y: Tensor, ids: Tensor, extra: Tensor, positions: Tensor): Tensor {
  const [, tokens] = ids.shape as [number, number];
  if (extra.columns !== y.columns || positions.columns !== y.columns)
    throw new Error(
      `embedExtra: rows of ${extra.columns} columns and positions of ${positions.columns} for ${y.columns}`,
    );
  const quads = y.stride / 4;
  const shared = { tokens, ids_stride: ids.stride, quads, first: FIRST_EXTRA_ID };
  dispatchQuads('embed-extra.wgsl', {
    strips: { y },
    args: ({ firstRow }, rows) => ({ ...shared, rows, first_row: firstRow }),
    bind: { ids, extra, positions },
    quads,
  });
  return y;
}
