// Depthwise convolutions of NHWC images: each channel has a kernel of its own.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageStrips } from './image-strips.ts';
import { imageShape } from './pixels.ts';

const WORKGROUP = 64;
/** Pixels of a lane. */
const RUN = 8;

export interface Depthwise {
  /** [channels] */
  bias?: Tensor;
  /** Whether the result is the first half of the channels times SiLU of the second half. */
  gated?: boolean;
}

/**
 * x [batch, height, width, channels], weight [channels, kernel²] → the same shape, or half of its channels if gated, which are a multiple
 * of 4 then. Kernels have an odd side, and zeros surround the image.
 */
export function depthwise(x: Tensor, weight: Tensor, { bias, gated = false }: Depthwise = {}): Tensor {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const channels = x.columns;
  const kernel = Math.sqrt(weight.columns);
  const made = gated ? channels / 2 : channels;
  if (weight.shape[0] !== channels || kernel % 2 !== 1 || (gated && made % 4 !== 0))
    throw new Error(`depthwise: [${x.shape.join(', ')}] by [${weight.shape.join(', ')}], gated ${gated}`);
  const y = tape.tensor([batch, height, width, made]);
  const pad = (kernel - 1) / 2;
  const strips = imageStrips(tape, x, y, ([first, last]) => [
    Math.max(0, first - pad),
    Math.min(batch * height, last + pad),
  ]);
  for (const { rows, x: from, y: to } of strips) {
    const runs = (rows[1] - rows[0]) * Math.ceil(width / RUN);
    tape.dispatch('depthwise.wgsl', {
      params: { BIAS: bias ? 'add' : 'none', GATED: gated },
      args: {
        channels,
        height,
        width,
        kernel,
        taps: weight.stride,
        x_quads: x.stride / 4,
        y_quads: y.stride / 4,
        halves: Math.ceil(made / 4),
        first: rows[0],
        last: rows[1],
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, weight, y: to.operand, ...(bias && { bias }) },
      groups: () => [
        Math.ceil(y.stride / 4 / WORKGROUP),
        Math.min(runs, tape.device.capabilities.maxWorkgroups),
      ],
    });
  }
  return y;
}
