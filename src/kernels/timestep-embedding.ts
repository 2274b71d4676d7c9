// Sinusoidal embedding of numbers: the form in which diffusion models take time steps and sizes.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

export interface Waves {
  /** true: cosines precede sines. */
  flip: boolean;
  /** Frequencies are maxPeriod^(-i / (dims / 2 - shift)). */
  shift: number;
  maxPeriod: number;
}

/** t f32 [rows, n] → [rows, n · dims]; dims even, t up to 2³² exact to 1e-6 */
export function timestepEmbedding(t: Tensor, dims: number, { flip, shift, maxPeriod }: Waves): Tensor {
  const tape = tapeOf(t);
  const columns = t.columns * dims;
  const y = tape.tensor([...t.shape.slice(0, -1), columns]);
  const steps = dims / 2 - shift;
  const ratio = steps > 0 ? maxPeriod ** (-1 / steps) : 0; // without steps there is one frequency, 1
  if (dims % 2 !== 0 || !(ratio < 1))
    throw new Error(
      `timestepEmbedding: ${dims} dims of periods up to ${maxPeriod}: even dims, and periods above 1, are wanted`,
    );
  const high = Math.floor(ratio * 2 ** 32);
  tape.dispatch('timestep-embedding.wgsl', {
    args: {
      columns,
      dims,
      ratio_low: Math.floor((ratio * 2 ** 32 - high) * 2 ** 32),
      ratio_high: high,
      cos_first: Number(flip),
      t_stride: t.stride,
      y_stride: y.stride,
    },
    bind: { t, y },
    groups: (sizes) => [Math.ceil(y.stride / WORKGROUP), t.rows(sizes)],
  });
  return y;
}
