// RMSNorm over the channels of NHWC images, which the autoencoders of Wan, Qwen-Image and Sana have in place of GroupNorm.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import {
  cutPixels,
  floatsOf,
  imageShape,
  putsInto,
  view,
  type Pixels,
  type Stored,
  type View,
} from './pixels.ts';

/** Pixels per workgroup. */
const PIXELS = 8;

export interface ChannelNorm {
  /** [channels]; left out: 1. */
  weight?: Tensor;
  bias?: Tensor;
  /** Added to the mean of the squares; left out: 0. */
  eps?: number;
  activation?: keyof typeof ACTIVATIONS;
}

const ACTIVATIONS = { none: 0, silu: 1, relu: 2 };

/**
 * x / √(mean(x²) + eps) · weight + bias of each pixel, then the activation; x [batch, height, width, channels] → the same shape. `into`:
 * tensor to which the result is added, in place.
 */
export function channelNorm(x: Tensor, norm: ChannelNorm, into?: Tensor): Tensor {
  const tape = tapeOf(x);
  if (into && into.shape.join() !== x.shape.join())
    throw new Error(`channelNorm: [${x.shape.join(', ')}] added to [${into.shape.join(', ')}]`);
  const y = into ?? tape.tensor(x.shape);
  const all = { first: 0, last: x.rows({}) };
  for (const pixels of cutPixels(tape, all, [x, y]))
    normalizePixels(x, norm, pixels, view(tape, x, pixels), floatsOf(tape, y, pixels), into !== undefined);
  return y;
}

/** Normalizes pixels, counted over all images, from one view into another; `adds`: adds the result to what that holds. */
export function normalizePixels(
  x: Tensor,
  { weight, bias, eps = 0, activation = 'none' }: ChannelNorm,
  { first, last }: Pixels,
  from: View,
  to: Stored,
  adds = false,
): void {
  if (weight && weight.columns !== x.columns)
    throw new Error(`channelNorm: ${weight.columns} weights for ${x.columns} channels`);
  const tape = tapeOf(x);
  const [, height, width] = imageShape(x);
  const puts = putsInto(to);
  const most = PIXELS * tape.device.capabilities.maxWorkgroups;
  for (let at = first; at < last; at += most) {
    const end = Math.min(last, at + most);
    tape.dispatch('channel-norm.wgsl', {
      params: {
        WEIGHT: weight ? 'multiply' : 'none',
        BIAS: bias ? 'add' : 'none',
        ACTIVATION: ACTIVATIONS[activation],
        ADD: adds,
        ...puts.params,
      },
      args: {
        quads: x.stride / 4,
        y_step: puts.step,
        channels: x.columns,
        pixels: height * width,
        first: at,
        last: end,
        x_first: from.first,
        y_first: to.first,
        eps,
      },
      bind: { x: from.operand, ...(weight && { weight }), ...puts.bind, ...(bias && { bias }) },
      groups: () => [Math.ceil((end - at) / PIXELS)],
    });
  }
}
