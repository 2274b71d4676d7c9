// Clips as frames that are tensors of their own.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import type { Frames } from './causal-frames.ts';

/** The frames of a clip [frames, height, width, channels]. */
export function clipFrames(x: Tensor): Frames {
  const [count, height, width] = x.shape as [number, number, number];
  if (count === 1) return [x];
  return Array.from({ length: count }, (_, i) => takeRows(x, i * height * width, [1, height, width]));
}

/** A clip of frames, which may be one alone. */
export function joinedFrames(frames: Frames): Tensor {
  if (frames.length === 1) return frames[0]!;
  return joinRows(frames, [frames.length, ...(frames[0]!.shape.slice(1, -1) as number[])]);
}
