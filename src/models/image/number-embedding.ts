// Numbers, such as the time step, as inputs of transformers: their sines and cosines, and a small network behind them.

import type { Tensor } from '../../gpu/tensor.ts';
import { linear, linearAdd, type Activation } from '../../kernels/matmul.ts';
import { timestepEmbedding } from '../../kernels/timestep-embedding.ts';
import type { WeightTable } from '../weights.ts';

const WAVES = 256;
const MAX_PERIOD = 10000;

/** Sines and cosines of a number, the cosines first: f32 [items, 1] → [items, columns] */
export const wavesOf = (number: Tensor, columns = WAVES): Tensor =>
  timestepEmbedding(number, columns, { flip: true, shift: 0, maxPeriod: MAX_PERIOD });

/** Two layers with an activation between them, [items, k] → [items, columns]; the result is added to `sum` in place where that is given. */
export function perceptron(
  weights: WeightTable,
  name: string,
  [columns, k]: readonly [columns: number, k: number],
  options = { bias: true },
  activation: Activation = 'silu',
) {
  const first = weights.matrix(`${name}.linear_1.weight`, columns, k, options);
  const second = weights.matrix(`${name}.linear_2.weight`, columns, columns, options);
  return (x: Tensor, sum: Tensor | null = null): Tensor => {
    const wide = linear(x, first, { activation });
    return sum ? linearAdd(wide, second, sum) : linear(wide, second);
  };
}

/** Embeds a number by its waves, f32 [items, 1] → [items, columns]; the result is added to `sum` in place where that is given. */
export function numberEmbedding(
  weights: WeightTable,
  name: string,
  columns: number,
  { waves = WAVES, bias = true } = {},
) {
  const embed = perceptron(weights, name, [columns, waves], { bias });
  return (number: Tensor, sum: Tensor | null = null): Tensor => embed(wavesOf(number, waves), sum);
}
