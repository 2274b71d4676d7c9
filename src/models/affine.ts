// The scale and shift of norms.

import type { Tensor } from '../gpu/tensor.ts';
import type { WeightTable } from './weights.ts';

export function affine(weights: WeightTable, name: string, size: number): { weight: Tensor; bias: Tensor } {
  return { weight: weights.vector(`${name}.weight`, size), bias: weights.vector(`${name}.bias`, size) };
}
