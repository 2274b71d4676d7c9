// Converts images to sequences of square patches, and back.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

export interface Patches {
  /** Side of a patch in pixels. */
  size: number;
  /** Order within a patch: pixel by pixel (rows p, columns q, channels c), or channel by channel. */
  order: 'pqc' | 'cpq';
}

/** x [items, height, width, channels] → [items, height / size · width / size, size² · channels] */
export function patchify(x: Tensor, patches: Patches): Tensor {
  const [items, height, width, channels] = x.shape as number[];
  const { size } = patches;
  if (x.shape.length !== 4 || height! % size !== 0 || width! % size !== 0)
    throw new Error(`patchify: [${x.shape.join(', ')}] in patches of ${size}`);
  const y = tapeOf(x).tensor([items!, (height! * width!) / size ** 2, size ** 2 * channels!]);
  record(x, y, { image: x, sequence: y, patches });
  return y;
}

/**
 * x [items, tokens, size² · n], whose first tokens are the patches → [items, height, width, channels], the first of n channels; `channels`
 * left out: all of them
 */
export function unpatchify(
  x: Tensor,
  patches: Patches & { height: number; width: number; channels?: number },
): Tensor {
  const [items, tokens] = x.shape as number[];
  const { size, height, width } = patches;
  const all = x.columns / size ** 2;
  const { channels = all } = patches;
  if (
    x.shape.length !== 3 ||
    tokens! * size ** 2 < height * width ||
    !Number.isInteger(all) ||
    channels > all
  )
    throw new Error(`unpatchify: [${x.shape.join(', ')}] to ${width} × ${height} in patches of ${size}`);
  const y = tapeOf(x).tensor([items!, height, width, channels]);
  record(x, y, { image: y, sequence: x, patches });
  return y;
}

function record(
  x: Tensor,
  y: Tensor,
  { image, sequence, patches: { size, order } }: { image: Tensor; sequence: Tensor; patches: Patches },
): void {
  const tape = tapeOf(x);
  const [items, height, width, channels] = image.shape as number[];
  const values = y.rows({}) * y.stride;
  tape.dispatch('patchify.wgsl', {
    params: { TO_PATCHES: y === sequence, PIXELS_FIRST: order === 'pqc' },
    args: {
      height: height!,
      width: width!,
      channels: sequence.columns / size ** 2,
      image_channels: channels!,
      size,
      tokens: sequence.shape[1] as number,
      items: items!,
      image_stride: image.stride,
      patch_stride: sequence.stride,
    },
    bind: { x, y },
    groups: () => walkers(tape, values),
  });
}
