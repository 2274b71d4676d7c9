// RMSNorm over the channels of NHWC images, which the autoencoders of Wan and Qwen-Image have in place of GroupNorm.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, view, type Pixels, type View } from './pixels.ts';

/** Pixels per workgroup. */
const PIXELS = 8;

export interface ChannelNorm {
  /** [channels] */
  weight: Tensor;
  silu?: boolean | undefined;
}

/** x · √channels / |x| · weight of each pixel, then SiLU if requested; x [batch, height, width, channels] → the same shape */
export function channelNorm(x: Tensor, norm: ChannelNorm): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const all = { first: 0, last: x.rows({}) };
  for (const pixels of cutPixels(tape, all, [x, y]))
    normalizePixels(x, norm, pixels, view(tape, x, pixels), view(tape, y, pixels));
  return y;
}

/** Normalizes pixels, counted over all images, from one view into another. */
export function normalizePixels(
  x: Tensor,
  { weight, silu = false }: ChannelNorm,
  { first, last }: Pixels,
  from: View,
  to: View,
): void {
  if (weight.columns !== x.columns)
    throw new Error(`channelNorm: ${weight.columns} weights for ${x.columns} channels`);
  const tape = tapeOf(x);
  const most = PIXELS * tape.device.capabilities.maxWorkgroups;
  for (let at = first; at < last; at += most) {
    const end = Math.min(last, at + most);
    tape.dispatch('channel-norm.wgsl', {
      params: { SILU: silu },
      args: {
        quads: x.stride / 4,
        channels: x.columns,
        first: at,
        last: end,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, weight, y: to.operand },
      groups: () => [Math.ceil((end - at) / PIXELS)],
    });
  }
}
