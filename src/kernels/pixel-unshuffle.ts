// Reduces NHWC images by moving pixels to channels, and averages channels.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageStrips } from './image-strips.ts';
import type { Shuffle } from './pixel-shuffle.ts';
import { imageShape } from './pixels.ts';
import { walkers } from './walkers.ts';

/**
 * Makes consecutive channels of factor · factor pixels, then averages neighbours of them so that `channels` are left; x [batch, factor ·
 * height, factor · width, from] → [batch, height, width, channels]
 */
export function pixelUnshuffle(x: Tensor, { factor, channels, into }: Shuffle): Tensor {
  const tape = tapeOf(x);
  const [batch, tall, wide] = imageShape(x);
  const [height, width] = [tall / factor, wide / factor];
  const shape = [batch, height, width, channels];
  const share = (x.columns * factor ** 2) / channels;
  if (![height, width, share].every(Number.isInteger) || (into && into.shape.join() !== shape.join()))
    throw new Error(`pixelUnshuffle: [${x.shape.join(', ')}] to [${shape.join(', ')}]`);
  const y = into ?? tape.tensor(shape);
  const strips = imageStrips(tape, x, y, ([first, last]) => [first * factor, last * factor]);
  for (const { rows, x: from, y: to } of strips) {
    const [first, last] = rows.map((row) => row * width) as [number, number];
    tape.dispatch('pixel-unshuffle.wgsl', {
      params: { ADD: into !== undefined },
      args: {
        channels,
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
  return y;
}
