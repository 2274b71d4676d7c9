// Scales images like torch's bilinear interpolation without its antialiasing filter, and takes their middle.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageStrips } from './image-strips.ts';
import { imageShape } from './pixels.ts';
import { walkers } from './walkers.ts';

/**
 * Scales images so that they cover height × width, and cuts the rest equally on both sides; x [batch, tall, wide, channels] → [batch,
 * height, width, channels]. source: diffusers' resize_and_crop_tensor
 */
export function scaleAndCut(x: Tensor, { height, width }: { height: number; width: number }): Tensor {
  const [batch, tall, wide] = imageShape(x);
  if (tall === height && wide === width) return x;
  const tape = tapeOf(x);
  const y = tape.tensor([batch, height, width, x.columns]);
  const ratio = Math.max(height / tall, width / wide);
  const scaled = { height: Math.trunc(tall * ratio), width: Math.trunc(wide * ratio) };
  const top = Math.floor((scaled.height - height) / 2);
  const rate = tall / scaled.height;
  /** The row of an image before that of its scaled rows; one more on either side allows for rounding. */
  const sourceRow = (row: number): number =>
    Math.floor(row / height) * tall + Math.floor((top + (row % height) + 0.5) * rate - 0.5);
  const strips = imageStrips(tape, x, y, ([first, last]) => [
    Math.max(0, sourceRow(first) - 1),
    Math.min(batch * tall, sourceRow(last - 1) + 3),
  ]);
  for (const { rows, x: from, y: to } of strips) {
    const [first, last] = rows.map((row) => row * width) as [number, number];
    tape.dispatch('scale-and-cut.wgsl', {
      args: {
        quads: x.stride / 4,
        x_height: tall,
        x_width: wide,
        height,
        width,
        top,
        left: Math.floor((scaled.width - width) / 2),
        rate_y: rate,
        rate_x: wide / scaled.width,
        first,
        last,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, y: to.operand },
      groups: () => walkers(tape, ((last - first) * x.stride) / 4),
    });
  }
  return y;
}
