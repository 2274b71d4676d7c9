// Norms of a decoder's residual stream, by kind.

import type { Operand } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { layernorm, layernormRows, type Affine } from '../../../kernels/layernorm.ts';
import { rmsnorm, rmsnormRows } from '../../../kernels/rmsnorm.ts';
import type { WeightTable } from '../../weights.ts';

/** RMSNorm, LayerNorm with weight and bias, or LayerNorm with a weight only. */
export type NormKind = 'rms' | 'layer' | 'layer-weight';

export interface NormConfig {
  kind: NormKind;
  eps: number;
  /** Added to the weights of an RMSNorm. */
  plus?: 0 | 1;
}

export interface Norm {
  /** x [rows, columns] → [rows, columns] */
  all(x: Tensor): Tensor;
  /** Norms of the rows that `index` names, `into` bytes that outlast the step: [n, columns] */
  rows(x: Tensor, index: Operand, n: string, into?: Region): Tensor;
}

/** Declares the norm whose tensors are `name`.weight and `name`.bias, of `size` columns. */
export function norm(weights: WeightTable, name: string, size: number, config: NormConfig): Norm {
  const { kind, eps, plus = 0 } = config;
  const weight = weights.vector(`${name}.weight`, size, { plus });
  if (kind === 'rms') {
    return {
      all: (x) => rmsnorm(x, weight, eps),
      rows: (x, index, n, into) => rmsnormRows(x, weight, eps, index, n, into),
    };
  }
  const affine: Affine = { weight, bias: kind === 'layer' ? weights.vector(`${name}.bias`, size) : null };
  return {
    all: (x) => layernorm(x, affine, eps),
    rows: (x, index, n, into) => layernormRows(x, affine, eps, index, n, into),
  };
}
