// One check of a kernel family: what is computed twice, or once and by JavaScript.

import type { Tape } from '../../gpu/tape.ts';
import type { Sizes, Tensor } from '../../gpu/tensor.ts';
import type { KernelInputs } from './kernel-inputs.ts';

export interface KernelCase {
  /** The computation, as `product in int4`. */
  name: string;
  /** Sizes of the step. */
  sizes: Sizes;
  /** Names of rows of a decode step; left out: none. */
  decodes?: readonly string[];
  /** Products are those of activations in 8 bits, on adapters that have such kernels; left out: of floats. */
  activations?: 'int8';
  prepare(inputs: KernelInputs): PreparedCase;
}

export interface PreparedCase {
  record: (tape: Tape) => Tensor;
  /** Values of all rows, one after another; left out: what the same launchers record on a plain tape. */
  expected?: ArrayLike<number>;
}
