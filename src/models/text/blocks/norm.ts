// Norms of a decoder's residual stream, by kind.

import type { Operand } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { layernorm, layernormRows, type Affine } from '../../../kernels/layernorm.ts';
import { rmsnorm, rmsnormRows } from '../../../kernels/rmsnorm.ts';
import type { WeightTable } from '../../weights.ts';

/** RMSNorm, or LayerNorm with weight and bias, with a weight only, or with neither. */
export type NormKind = 'rms' | 'layer' | 'layer-weight' | 'layer-plain';

export interface NormConfig {
  kind: NormKind;
  eps: number;
  /** Added to the weights. */
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
  if (kind === 'layer-plain') return layerNorm(null, eps);
  const weight = weights.vector(`${name}.weight`, size, { plus });
  if (kind === 'rms') {
    return {
      all: (x) => rmsnorm(x, weight, eps),
      rows: (x, index, n, into) => rmsnormRows(x, weight, eps, index, n, into),
    };
  }
  return layerNorm({ weight, bias: kind === 'layer' ? weights.vector(`${name}.bias`, size) : null }, eps);
}

function layerNorm(affine: Affine | null, eps: number): Norm {
  return {
    all: (x) => layernorm(x, affine, eps),
    rows: (x, index, n, into) => layernormRows(x, affine, eps, index, n, into),
  };
}
