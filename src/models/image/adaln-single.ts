// AdaLN-single: one network makes the modulation of all blocks of a transformer from the time step, and each block adds a table of its own
// (PixArt, Sana, Wan, LTX-Video).

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import type { Columns } from '../../kernels/columns.ts';
import { linear } from '../../kernels/matmul.ts';
import type { WeightTable } from '../weights.ts';
import { numberEmbedding } from './number-embedding.ts';

export interface SingleModulation {
  /** The embedded numbers, [items, hidden]. */
  embedded: Tensor;
  /** Shift, scale and gate of attention, then those of the feed-forward part, [items, 6 · hidden]. */
  modulation: Tensor;
}

/** The modulation of all blocks, embedded numbers [items, hidden] → [items, 6 · hidden] */
export function singleModulation(weights: WeightTable, hidden: number, name: string) {
  const modulate = weights.matrix(`${name}.weight`, 6 * hidden, hidden, { bias: true });
  return (embedded: Tensor): Tensor => linear(silu(embedded), modulate);
}

/** Shift and scale of a norm, `hidden` columns each from `first` on. */
export function modulated(m: Tensor, first: number, hidden: number): Record<'shift' | 'scale', Columns> {
  return { shift: { x: m, first }, scale: { x: m, first: first + hidden } };
}

/** `embedders`: names of the networks that embed a number each, such as the time step; numbers are f32 [items, 1]. */
export function adaLNSingle(
  weights: WeightTable,
  hidden: number,
  linearName: string,
  embedders: readonly string[],
) {
  const networks = embedders.map((name) => numberEmbedding(weights, name, hidden));
  const modulate = singleModulation(weights, hidden, linearName);
  return (...numbers: readonly Tensor[]): SingleModulation => {
    let embedded: Tensor | null = null;
    networks.forEach((embed, i) => {
      embedded = embed(numbers[i]!, embedded);
    });
    if (embedded === null) throw new Error('adaLNSingle: no numbers are embedded');
    return { embedded, modulation: modulate(embedded) };
  };
}
