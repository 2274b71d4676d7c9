// Standardizes columns by what a checkpoint holds of each.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** (x − centre) · factor; x [rows, columns], centre and factor [columns] → [rows, columns] */
export function centreColumns(x: Tensor, centre: Tensor, factor: Tensor): Tensor {
  if (centre.columns !== x.columns || factor.columns !== x.columns)
    throw new Error(`centreColumns: [${x.shape.join(', ')}] by ${centre.columns} and ${factor.columns}`);
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('centre-columns.wgsl', {
    strips: { x, y },
    args: (_, rows) => ({ quads, all_quads: rows * quads }),
    bind: { centre, factor },
    quads,
  });
  return y;
}
