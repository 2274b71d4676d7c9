// Rows under an RMSNorm in 8 bits, in one dispatch: what products of decode rows with integer codes read.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { BLOCK } from './matrix-windows.ts';
import type { NormedRows } from './normed.ts';
import { once, roundedLike, type WordOrder } from './quantize-rows.ts';
import { stripsOf } from './row-strips.ts';

/** The norm of each row, then quantizeRows of it; x [rows, k] → u32 [rows, 12 · blocks] */
export function quantizeNormed(rows: NormedRows, order: WordOrder): Tensor {
  return once(rows, rows.x, order, () => {
    rows.checkUnchanged();
    return record(rows, order);
  });
}

function record({ x, weight, eps }: NormedRows, order: WordOrder): Tensor {
  const tape = tapeOf(x);
  const y = roundedLike(x);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('quantize-normed.wgsl', {
      params: { INTERLEAVED: order === 'interleaved' },
      args: { blocks: x.stride / BLOCK, columns: x.columns, y_quads: y.stride / 4, eps },
      bind: { x: strip.of(x), weight, y: strip.of(y) },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}
