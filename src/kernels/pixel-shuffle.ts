// Enlarges NHWC images by moving channels to pixels, and repeats channels.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageStrips, type RowRange } from './image-strips.ts';
import { imageShape } from './pixels.ts';
import { walkers } from './walkers.ts';

export interface Shuffle {
  /** Pixels of the result along a side of a pixel of x. */
  factor: 1 | 2;
  /** Channels of the result; those of x are repeated so that there are factor² times as many. */
  channels: number;
  /** Tensor that the result is added to, in place. */
  into?: Tensor;
}

/**
 * Repeats each channel of x, then makes factor · factor pixels of as many consecutive channels; x [batch, height, width, from] →
 * [batch, factor · height, factor · width, channels]
 */
export function pixelShuffle(x: Tensor, { factor, channels, into }: Shuffle): Tensor {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const shape = [batch, factor * height, factor * width, channels];
  const share = (channels * factor ** 2) / x.columns;
  if (!Number.isInteger(share) || (into && into.shape.join() !== shape.join()))
    throw new Error(`pixelShuffle: [${x.shape.join(', ')}] to [${shape.join(', ')}]`);
  const y = into ?? tape.tensor(shape);
  recordShuffle('pixel-shuffle.wgsl', x, y, { factor, share, adds: into !== undefined }, ([first, last]) => [
    Math.floor(first / factor),
    Math.ceil(last / factor),
  ]);
  return y;
}

/** Records the pixels of y strip by strip. `share`: channels that are repeated or averaged; `sourceOf`: see imageStrips. */
export function recordShuffle(
  shader: string,
  x: Tensor,
  y: Tensor,
  { factor, share, adds }: { factor: number; share: number; adds: boolean },
  sourceOf: (rows: RowRange) => RowRange,
): void {
  const tape = tapeOf(x);
  const width = y.shape[2] as number;
  for (const { rows, x: from, y: to } of imageStrips(tape, x, y, sourceOf)) {
    const [first, last] = rows.map((row) => row * width) as [number, number];
    tape.dispatch(shader, {
      params: { ADD: adds },
      args: {
        channels: y.columns,
        width,
        factor,
        share,
        x_stride: x.stride,
        y_quads: y.stride / 4,
        first,
        last,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, y: to.operand },
      groups: () => walkers(tape, ((last - first) * y.stride) / 4),
    });
  }
}
