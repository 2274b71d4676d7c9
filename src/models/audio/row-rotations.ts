// Rotary positions of the rows of a sound.

import type { Tensor } from '../../gpu/tensor.ts';
import { constantBeside } from '../../kernels/constants.ts';
import { inverseFrequencies, type RopeConfig } from '../text/blocks/rope.ts';

/** cos and sin of each pair of dimensions for `rows` rows, [rows, dims], beside x; those behind the rotated ones do not turn. */
export function rowRotations(
  x: Tensor,
  rows: number,
  { rope, dims }: { rope: RopeConfig; dims: number },
): Tensor {
  const key = `rotations of rows by ${rope.theta} in ${rope.dims} of ${dims}`;
  return constantBeside(x, key, [rows, dims], () => {
    const values = new Float32Array(rows * dims);
    const frequencies = inverseFrequencies(rope, rows);
    for (let i = 0; 2 * i < values.length; i++) {
      const angle = Math.floor((2 * i) / dims) * (frequencies[i % (dims / 2)] ?? 0);
      values[2 * i] = Math.cos(angle);
      values[2 * i + 1] = Math.sin(angle);
    }
    return values;
  });
}
