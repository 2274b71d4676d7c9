// Products whose terms are divided among devices: the sum of what each has computed, by way of host memory.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** The sum of all devices' x, with equal bits on each → the shape of x */
export function sumParts(x: Tensor): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  tape.meet(x, [y], async (own) => {
    if (!tape.sums) throw new Error('sumParts: the tape has no devices to exchange with');
    return [await tape.sums.allReduce(own)];
  });
  return y;
}
