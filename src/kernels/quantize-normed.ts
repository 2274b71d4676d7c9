// Rows under an RMSNorm in 8 bits, in one dispatch: what products of decode rows with integer codes read.

import type { Tensor } from '../gpu/tensor.ts';
import { BLOCK } from './matrix-windows.ts';
import type { NormedRows } from './normed.ts';
import { once, roundedLike, type WordOrder } from './quantize-rows.ts';
import { dispatchRows } from './row-strips.ts';

/** The norm of each row, then quantizeRows of it; x [rows, k] → u32 [rows, 12 · blocks] */
export function quantizeNormed(rows: NormedRows, order: WordOrder): Tensor {
  return once(rows, rows.x, order, () => {
    rows.checkUnchanged();
    return record(rows, order);
  });
}

function record({ x, weight, eps }: NormedRows, order: WordOrder): Tensor {
  const y = roundedLike(x);
  dispatchRows('quantize-normed.wgsl', {
    strips: { x, y },
    params: { INTERLEAVED: order === 'interleaved' },
    args: { blocks: x.stride / BLOCK, columns: x.columns, y_quads: y.stride / 4, eps },
    bind: { weight },
  });
  return y;
}
