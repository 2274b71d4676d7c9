// The scale and shift of norms.

import type { Affine } from '../kernels/layernorm.ts';
import type { WeightTable } from './weights.ts';

export function affine(weights: WeightTable, name: string, size: number): Affine {
  return { weight: weights.vector(`${name}.weight`, size), bias: weights.vector(`${name}.bias`, size) };
}
