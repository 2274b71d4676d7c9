// The residual block of UNets and autoencoders: norm, SiLU and convolution twice, the embedded time step added between.

import type { Tensor } from '../../gpu/tensor.ts';
import type { Columns } from '../../kernels/columns.ts';
import { linear } from '../../kernels/matmul.ts';
import { normConv } from '../../kernels/norm-conv.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';

export interface ResnetShape {
  groups: number;
  eps: number;
}

export interface ResnetUse {
  /** Addend of the time step for every pixel: [batch, to] */
  time?: Columns;
  /** Whether x may be overwritten, because nothing reads it afterwards. */
  overwrites?: boolean;
  /** Rows of pixels whose normalized values exist at a time. */
  stripRows?: number | undefined;
}

/** x [batch, height, width, from] → [batch, height, width, to] */
export function resnet(
  { groups, eps }: ResnetShape,
  weights: WeightTable,
  name: string,
  from: number,
  to: number,
) {
  const norm1 = affine(weights, `${name}.norm1`, from);
  const conv1 = weights.conv(`${name}.conv1.weight`, to, from, 3);
  const norm2 = affine(weights, `${name}.norm2`, to);
  const conv2 = weights.conv(`${name}.conv2.weight`, to, to, 3);
  const shortcut = from === to ? null : weights.conv(`${name}.conv_shortcut.weight`, to, from, 1);

  return (x: Tensor, { time, overwrites, stripRows }: ResnetUse): Tensor => {
    const norm = { groups, eps, silu: true, stripRows };
    const y = normConv(x, norm1, conv1, { ...norm, perImage: time }); // [batch, height, width, to]
    const residual = shortcut ? linear(x, shortcut) : x;
    const inPlace = shortcut !== null || overwrites;
    return normConv(y, norm2, conv2, { ...norm, residual, inPlace });
  };
}
