// Reduces NHWC images by moving pixels to channels, and averages channels.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { recordShuffle, type Shuffle } from './pixel-shuffle.ts';
import { imageShape } from './pixels.ts';

/**
 * Makes consecutive channels of factor · factor pixels, then averages neighbours of them so that `channels` are left. Where all channels of a pixel are
 * consecutive, there may be more of them, which begin again; x [batch, factor ·
 * height, factor · width, from] → [batch, height, width, channels]
 */
export function pixelUnshuffle(x: Tensor, shuffle: Shuffle): Tensor {
  const { factor, channels, into, order, time } = shuffle;
  const [batch, tall, wide] = imageShape(x);
  const [height, width] = [tall / factor, wide / factor];
  const shape = [batch, height, width, channels];
  const share = (x.columns * factor ** 2 * (time?.of ?? 1)) / channels;
  const isWhole = Number.isInteger(share) || (order === 'apart' && Number.isInteger(1 / share));
  if (![height, width].every(Number.isInteger) || !isWhole || (into && into.shape.join() !== shape.join()))
    throw new Error(`pixelUnshuffle: [${x.shape.join(', ')}] to [${shape.join(', ')}]`);
  const y = into ?? tapeOf(x).tensor(shape);
  recordShuffle('pixel-unshuffle.wgsl', x, y, { ...shuffle, share }, ([first, last]) => [
    first * factor,
    last * factor,
  ]);
  return y;
}
