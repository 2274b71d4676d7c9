// Rows of x in 8 bits, as products with integer codes read them.

import { tapeOf } from '../gpu/tape.ts';
import type { Sizes, Tensor } from '../gpu/tensor.ts';
import { BLOCK } from './matrix-windows.ts';
import { stripsOf } from './row-strips.ts';

const LANES = 32;
/** Words of a block: four codes each, then its scale and its sums. */
const BLOCK_WORDS = BLOCK / 4 + 4;

/** Order of the k's in words: that of the rows, or as codes of 4 bits are unpacked. */
export type WordOrder = 'in-order' | 'interleaved';

interface Quantized {
  y: Tensor;
  /** Writes to the rows before. */
  changes: number;
}

/** What was made of rows, by order: several products read the same rows. */
const made = new WeakMap<object, Map<WordOrder, Quantized>>();

/**
 * Rounds each block of 32 k's to 8 bits under a scale of its own, once for all products that read the rows. `count`: rows in a step, if they are fewer
 * than the shape says.
 * x [rows, k] → u32 [rows, 12 · blocks]
 */
export function quantizeRows(x: Tensor, order: WordOrder, count?: (sizes: Sizes) => number): Tensor {
  return once(x, x, order, () => record(x, order, count));
}

/** Returns the tensor made from these rows earlier, or calls `make` if there is none or `of` was written since. */
export function once(rows: object, of: Tensor, order: WordOrder, make: () => Tensor): Tensor {
  const changes = tapeOf(of).changes.of(of);
  const byOrder = made.get(rows) ?? new Map<WordOrder, Quantized>();
  made.set(rows, byOrder);
  const known = byOrder.get(order);
  if (known?.changes === changes) return known.y;
  const y = make();
  byOrder.set(order, { y, changes });
  return y;
}

/** An empty tensor for rows of the shape of x in 8 bits. */
export function roundedLike(x: Tensor): Tensor {
  const words = Math.ceil(x.columns / BLOCK) * BLOCK_WORDS;
  return tapeOf(x).tensor([...x.shape.slice(0, -1), words], 'u32');
}

function record(x: Tensor, order: WordOrder, count: ((sizes: Sizes) => number) | undefined): Tensor {
  const tape = tapeOf(x);
  const y = roundedLike(x);
  const across = Math.ceil(y.stride / BLOCK_WORDS / LANES);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('quantize-rows.wgsl', {
      params: { INTERLEAVED: order === 'interleaved' },
      args: { x_quads: x.stride / 4, y_quads: y.stride / 4 },
      bind: { x: strip.of(x), y: strip.of(y) },
      groups: (sizes) => {
        const rows = strip.count(sizes);
        return [across, count ? Math.max(0, Math.min(rows, count(sizes) - strip.firstRow)) : rows];
      },
    });
  }
  return y;
}
