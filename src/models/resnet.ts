// The residual block of UNets and autoencoders: norm, SiLU and convolution twice, the embedded time step added between.

import type { Tensor } from '../gpu/tensor.ts';
import { conv2d } from '../kernels/conv2d.ts';
import { groupnorm } from '../kernels/groupnorm.ts';
import { linear } from '../kernels/matmul.ts';
import { affine } from './affine.ts';
import type { WeightTable } from './weights.ts';

export interface ResnetShape {
  groups: number;
  eps: number;
  /** Columns of the embedded time step; null: none is added. */
  timeDims: number | null;
}

/** x [batch, height, width, from], time [batch, timeDims] → [batch, height, width, to] */
export function resnet(shape: ResnetShape, weights: WeightTable, name: string, from: number, to: number) {
  const { groups, eps, timeDims } = shape;
  const norm1 = affine(weights, `${name}.norm1`, from);
  const conv1 = weights.conv(`${name}.conv1.weight`, to, from, 3);
  const timeProj =
    timeDims === null
      ? null
      : weights.matrix(`${name}.time_emb_proj.weight`, to, timeDims, `${name}.time_emb_proj.bias`);
  const norm2 = affine(weights, `${name}.norm2`, to);
  const conv2 = weights.conv(`${name}.conv2.weight`, to, to, 3);
  const shortcut = from === to ? null : weights.conv(`${name}.conv_shortcut.weight`, to, from, 1);

  return (x: Tensor, time: Tensor | null): Tensor => {
    const perImage = timeProj && time ? linear(time, timeProj) : undefined; // [batch, to]
    const y = conv2d(groupnorm(x, norm1, { groups, eps, silu: true }), conv1, { perImage }); // [batch, height, width, to]
    const residual = shortcut ? linear(x, shortcut) : x;
    return conv2d(groupnorm(y, norm2, { groups, eps, silu: true }), conv2, { residual });
  };
}
