// AdaLN-single: one network makes the modulation of all blocks of a transformer from the time step, and each block adds a table of its own
// (PixArt, Sana).

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { timestepEmbedding } from '../../kernels/timestep-embedding.ts';
import type { WeightTable } from '../weights.ts';

const WAVES = 256;
const MAX_PERIOD = 10000;

export interface SingleModulation {
  /** The embedded numbers, [items, hidden]. */
  embedded: Tensor;
  /** Shift, scale and gate of attention, then those of the feed-forward part, [items, 6 · hidden]. */
  modulation: Tensor;
}

/** Embeds a number by its waves, f32 [items, 1] → [items, columns]; the result is added to `sum` in place where that is given. */
export function numberEmbedding(weights: WeightTable, columns: number, name: string) {
  const first = weights.matrix(`${name}.linear_1.weight`, columns, WAVES, { bias: true });
  const second = weights.matrix(`${name}.linear_2.weight`, columns, columns, { bias: true });
  return (number: Tensor, sum: Tensor | null = null): Tensor => {
    const waves = timestepEmbedding(number, WAVES, { flip: true, shift: 0, maxPeriod: MAX_PERIOD });
    const wide = linear(waves, first, { activation: 'silu' });
    return sum ? linearAdd(wide, second, sum) : linear(wide, second);
  };
}

/** The modulation of all blocks, embedded numbers [items, hidden] → [items, 6 · hidden] */
export function singleModulation(weights: WeightTable, hidden: number, name: string) {
  const modulate = weights.matrix(`${name}.weight`, 6 * hidden, hidden, { bias: true });
  return (embedded: Tensor): Tensor => linear(silu(embedded), modulate);
}

/** `embedders`: names of the networks that embed a number each, such as the time step; numbers are f32 [items, 1]. */
export function adaLNSingle(
  weights: WeightTable,
  hidden: number,
  linearName: string,
  embedders: readonly string[],
) {
  const networks = embedders.map((name) => numberEmbedding(weights, hidden, name));
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
