// Reduces NHWC images by moving pixels to channels, and averages channels.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { recordShuffle, type Shuffle } from './pixel-shuffle.ts';
import { imageShape } from './pixels.ts';

/**
 * Makes consecutive channels of factor · factor pixels, then averages neighbours of them so that `channels` are left; x [batch, factor ·
 * height, factor · width, from] → [batch, height, width, channels]
 */
export function pixelUnshuffle(x: Tensor, shuffle: Shuffle): Tensor {
  const { factor, channels, into, time } = shuffle;
  const [batch, tall, wide] = imageShape(x);
  const [height, width] = [tall / factor, wide / factor];
  const shape = [batch, height, width, channels];
  const share = (x.columns * factor ** 2 * (time?.of ?? 1)) / channels;
  if (![height, width, share].every(Number.isInteger) || (into && into.shape.join() !== shape.join()))
    throw new Error(`pixelUnshuffle: [${x.shape.join(', ')}] to [${shape.join(', ')}]`);
  const y = into ?? tapeOf(x).tensor(shape);
  recordShuffle('pixel-unshuffle.wgsl', x, y, { ...shuffle, share }, ([first, last]) => [
    first * factor,
    last * factor,
  ]);
  return y;
}
