// Which products are computed from activations in 8 bits: those of the formats whose codes are integers, where the model asks for it. Prompts on
// matrix units are not: those multiply f16 at least as fast, and round less. Experts have no kernel for matrix units.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import { Tensor } from '../gpu/tensor.ts';
import type { WeightFormat } from './formats.ts';
import { usesGemm } from './gemm.ts';
import { usesGemmMatrix } from './gemm-matrix.ts';
import { isDecode } from './matvec.ts';
import type { WordOrder } from './quantize-rows.ts';

/** Whether a tape's products with weights of the format may be those of integers. */
export function multipliesIntegers({ plain, activations }: Tape, format: WeightFormat): boolean {
  return !plain && activations === 'int8' && format.integers;
}

/** Whether rows are rounded to 8 bits for their products with weights of the format. `isMatvec`: whether kernels of few rows multiply them. */
export function usesIntegers(
  x: Pick<Tensor, 'tape' | 'shape'>,
  format: WeightFormat,
  isMatvec = isDecode(x),
): boolean {
  const tape = tapeOf(x);
  if (!multipliesIntegers(tape, format)) return false;
  return isMatvec || (x instanceof Tensor && usesGemm(x) && !usesGemmMatrix(tape, x));
}

/** Codes of 4 bits are unpacked eight at a time. */
export function wordOrderOf({ bits }: WeightFormat): WordOrder {
  return bits === 4 ? 'interleaved' : 'in-order';
}
