// Linear layers of Gemma 4's towers. In some checkpoints each clamps what it takes and what it gives to ranges that training measured.

import type { Tensor } from '../gpu/tensor.ts';
import type { Activation } from '../kernels/activation.ts';
import { clampRange, type ValueRange } from '../kernels/clamp-range.ts';
import { linear } from '../kernels/matmul.ts';
import type { MatrixOptions, WeightTable } from './weights.ts';

/** activation(x · Wᵀ), [rows, k] → [rows, columns] */
export type LinearLayer = (x: Tensor, activation?: Activation) => Tensor;

/** The layer `name`, whose matrix is `name`.linear.weight. */
export function clippedLinear(
  isClipped: boolean,
  weights: WeightTable,
  name: string,
  [rows, k]: readonly [rows: number, k: number],
  split: MatrixOptions['split'] = 'none',
): LinearLayer {
  const matrix = weights.matrix(`${name}.linear.weight`, rows, k, { split });
  if (!isClipped) return (x, activation) => linear(x, matrix, activation && { activation });
  const range = (of: 'input' | 'output'): ValueRange => ({
    low: weights.vector(`${name}.${of}_min`, 1),
    high: weights.vector(`${name}.${of}_max`, 1),
  });
  const [input, output] = [range('input'), range('output')];
  return (x, activation) => clampRange(linear(clampRange(x, input), matrix), output, activation);
}
