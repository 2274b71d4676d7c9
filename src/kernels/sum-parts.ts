// Products whose terms are divided among devices: the sum of what each has computed, by way of host memory.

import type { PartSums } from '../gpu/tape-options.ts';
import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** The sum of all devices' x, with equal bits on each, by `sums` or those of the tape → the shape of x */
export function sumParts(x: Tensor, sums?: PartSums): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const exchange = async (own: ArrayBuffer): Promise<ArrayBuffer[]> => {
    const by = sums ?? tape.sums;
    if (!by) throw new Error('sumParts: the tape has no devices to exchange with');
    return [await by.allReduce(own)];
  };
  tape.meet({ from: [x], into: [y], exchange });
  return y;
}
