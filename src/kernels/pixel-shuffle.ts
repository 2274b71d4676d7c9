// Enlarges NHWC images by moving channels to pixels, and repeats channels.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageStrips, type RowRange } from './image-strips.ts';
import { imageShape } from './pixels.ts';
import { walkers } from './walkers.ts';

export interface Shuffle {
  /** Pixels of the result along a side of a pixel of x. */
  factor: 1 | 2 | 3 | 4;
  /** Channels of the result; those of x are repeated so that there are factor² times as many. */
  channels: number;
  /** Tensor that the result is added to, in place. */
  into?: Tensor;
  /**
   * Order of the pixels that consecutive channels become, row by row or column by column; `apart`: all channels of a pixel are consecutive, and
   * pixels stand row by row. Left out: row by row.
   */
  order?: 'rows' | 'columns' | 'apart';
  /**
   * The frame, out of `of`, that the larger image is: channels become frames before they become pixels. pixelUnshuffle gives the share of this
   * frame alone; left out: the only one.
   */
  time?: FrameOf;
  /** Whether repeated channels are all of them again and again, instead of each several times; only pixelShuffle repeats. */
  tiled?: boolean;
}

export interface FrameOf {
  index: number;
  of: number;
}

const SHUFFLE = 'pixel-shuffle.wgsl';
const ALONE: FrameOf = { index: 0, of: 1 };

/**
 * Repeats each channel of x, then makes factor · factor pixels of as many consecutive channels. Where all channels of a pixel are consecutive, the last
 * of them may be left out; x [batch, height, width, from] →
 * [batch, factor · height, factor · width, channels]
 */
export function pixelShuffle(x: Tensor, shuffle: Shuffle): Tensor {
  const { factor, channels, into, order, time = ALONE, tiled = false } = shuffle;
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const shape = [batch, factor * height, factor * width, channels];
  const share = (channels * factor ** 2 * time.of) / x.columns;
  const isWhole = Number.isInteger(tiled ? channels / share : share) || (order === 'apart' && share < 1);
  if (!isWhole || (into && into.shape.join() !== shape.join()))
    throw new Error(`pixelShuffle: [${x.shape.join(', ')}] to [${shape.join(', ')}]`);
  const y = into ?? tape.tensor(shape);
  recordShuffle(SHUFFLE, x, y, { ...shuffle, share }, ([first, last]) => [
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
  { factor, share, into, order = 'rows', time = ALONE, tiled = false }: Shuffle & { share: number },
  sourceOf: (rows: RowRange) => RowRange,
): void {
  const tape = tapeOf(x);
  const width = y.shape[2] as number;
  for (const { rows, x: from, y: to } of imageStrips(tape, x, y, sourceOf)) {
    const [first, last] = rows.map((row) => row * width) as [number, number];
    tape.dispatch(shader, {
      params: { ADD: into !== undefined, COLUMNS_FIRST: order === 'columns', APART: order === 'apart' },
      args: {
        channels: y.columns,
        width,
        factor,
        share: tiled ? 1 : Math.max(1, share),
        deep: shader === SHUFFLE ? x.columns / (factor ** 2 * time.of) : x.columns,
        ...(shader === SHUFFLE && { period: tiled ? y.columns / share : y.columns }),
        frame: time.index,
        frames: time.of,
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
