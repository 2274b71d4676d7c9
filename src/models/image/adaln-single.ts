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

/** `embedders`: names of the networks that embed a number each, such as the time step; numbers are f32 [items, 1]. */
export function adaLNSingle(
  weights: WeightTable,
  hidden: number,
  linearName: string,
  embedders: readonly string[],
) {
  const networks = embedders.map((name) => ({
    first: weights.matrix(`${name}.linear_1.weight`, hidden, WAVES, { bias: true }),
    second: weights.matrix(`${name}.linear_2.weight`, hidden, hidden, { bias: true }),
  }));
  const modulate = weights.matrix(`${linearName}.weight`, 6 * hidden, hidden, { bias: true });
  return (...numbers: readonly Tensor[]): SingleModulation => {
    let embedded: Tensor | null = null;
    networks.forEach(({ first, second }, i) => {
      const waves = timestepEmbedding(numbers[i]!, WAVES, { flip: true, shift: 0, maxPeriod: MAX_PERIOD });
      const wide = linear(waves, first, { activation: 'silu' });
      embedded = embedded ? linearAdd(wide, second, embedded) : linear(wide, second);
    });
    if (embedded === null) throw new Error('adaLNSingle: no numbers are embedded');
    return { embedded, modulation: linear(silu(embedded), modulate) };
  };
}
