// Rows of x in f16, as products on matrix units read them.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { BLOCK } from './matrix-windows.ts';
import { dispatchRows } from './row-strips.ts';

/** Words of a block of f16, and those after the last block that hold the row's factor. */
const BLOCK_WORDS = BLOCK / 2;
const FACTOR_WORDS = 4;

/**
 * Rounds each row, multiplied by a power of two, to f16: its largest value then lies in [2¹⁴, 2¹⁵), so that nothing becomes infinite that was
 * finite. Pairs of f16 and, behind those of all blocks, the factor that undoes the multiplication.
 * x [rows, k] → u32 [rows, 16 · blocks + 4]
 */
export function halveRows(x: Tensor): Tensor {
  const blocks = Math.ceil(x.columns / BLOCK);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), blocks * BLOCK_WORDS + FACTOR_WORDS], 'u32');
  const args = { x_quads: x.stride / 4, quads: Math.ceil(x.columns / 4), y_quads: y.stride / 4, blocks };
  dispatchRows('halve-rows.wgsl', { strips: { x, y }, args });
  return y;
}
