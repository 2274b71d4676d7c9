// Parametric ReLU, whose slope below zero a network learns for each channel.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** x = x where it is positive, elsewhere slope · x, in place; x [..., channels], slope [channels] → x */
export function prelu(x: Tensor, slope: Tensor): Tensor {
  if (slope.columns !== x.columns)
    throw new Error(`prelu: ${slope.columns} slopes for ${x.columns} channels`);
  const quads = x.stride / 4;
  dispatchQuads('prelu.wgsl', {
    strips: { x },
    args: (_, rows) => ({ quads, all_quads: rows * quads }),
    bind: { slope },
    quads,
  });
  return x;
}
