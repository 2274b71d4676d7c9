// The feed-forward part of Sana's transformer and autoencoder (GLUMBConv): a wider 1×1 convolution with SiLU, a depthwise 3×3 convolution, a
// gate by half of its channels, and a 1×1 convolution back.

import type { Tensor } from '../../gpu/tensor.ts';
import { depthwise } from '../../kernels/depthwise.ts';
import { linear } from '../../kernels/matmul.ts';
import type { WeightTable } from '../weights.ts';

/** x [batch, height, width, channels] → the same shape; `inner`: channels behind the gate, a multiple of 4 */
export function gluConv(weights: WeightTable, name: string, channels: number, inner: number) {
  const up = weights.matrix(`${name}.conv_inverted.weight`, 2 * inner, channels, { bias: true });
  const kernels = weights.kernels(`${name}.conv_depth.weight`, 2 * inner, 3);
  const bias = weights.vector(`${name}.conv_depth.bias`, 2 * inner);
  const down = weights.matrix(`${name}.conv_point.weight`, channels, inner);
  return (x: Tensor): Tensor => {
    const wide = linear(x, up, { activation: 'silu' }); //           [batch, height, width, 2 · inner]
    return linear(depthwise(wide, kernels, { bias, gated: true }), down);
  };
}
