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
  /** Pixels of x from one pixel of the result to the next; left out: 1. */
  stride?: 1 | 2;
}

/**
 * x [batch, height, width, channels], weight [channels, kernel²] → [batch, ⌈height / stride⌉, ⌈width / stride⌉, channels], or half of the channels if gated,
 * which are a multiple of 4 then. Kernels have an odd side, and zeros surround the image, where their number is odd one more behind it than before it.
 */
export function depthwise(
  x: Tensor,
  weight: Tensor,
  { bias, gated = false, stride = 1 }: Depthwise = {},
): Tensor {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const channels = x.columns;
  const kernel = Math.sqrt(weight.columns);
  const made = gated ? channels / 2 : channels;
  if (weight.shape[0] !== channels || kernel % 2 !== 1 || (gated && made % 4 !== 0))
    throw new Error(`depthwise: [${x.shape.join(', ')}] by [${weight.shape.join(', ')}], gated ${gated}`);
  const [yHeight, yWidth] = [height, width].map((size) => Math.ceil(size / stride)) as [number, number];
  const [pad, other] = [height, width].map((size) => zerosBefore(size, kernel, stride)) as [number, number];
  if (pad !== other)
    throw new Error(`depthwise: ${height} × ${width} pixels by ${stride}: sides of one parity are wanted`);
  /** The row of x, counted over all images, in the place of a row of y. */
  const sourceRow = (row: number): number => Math.floor(row / yHeight) * height + (row % yHeight) * stride;
  const y = tape.tensor([batch, yHeight, yWidth, made]);
  const strips = imageStrips(tape, x, y, ([first, last]) => [
    Math.max(0, sourceRow(first) - pad),
    Math.min(batch * height, sourceRow(last - 1) + kernel - pad),
  ]);
  for (const { rows, x: from, y: to } of strips) {
    const runs = (rows[1] - rows[0]) * Math.ceil(yWidth / RUN);
    tape.dispatch('depthwise.wgsl', {
      params: { BIAS: bias ? 'add' : 'none', GATED: gated, STRIDE: stride },
      args: {
        channels,
        height,
        width,
        y_height: yHeight,
        y_width: yWidth,
        kernel,
        pad,
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

/** Zeros before the first pixel, where a side has as many behind its last one or one more. */
function zerosBefore(size: number, kernel: number, stride: number): number {
  const read = (Math.ceil(size / stride) - 1) * stride + kernel;
  return Math.floor(Math.max(0, read - size) / 2);
}
