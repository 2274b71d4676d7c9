// GroupNorm of NHWC images: mean and variance over an image's pixels and a group's channels. Sums are computed by slabs, which
// depend on the size of one image only, so that neither the batch nor strips change a bit.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { imageParts, slabParts, slabsOf } from './image-parts.ts';
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

export interface GroupNorm {
  groups: number;
  eps: number;
  silu?: boolean | undefined;
}

/** Scale and shift of a norm, each [channels]. */
export interface NormWeights {
  weight: Tensor;
  bias: Tensor;
}

/** Quads of channels per workgroup, and pixels per workgroup of the last pass. */
const QUADS = 32;
const PIXELS = 16;

/**
 * (x - mean) / sqrt(variance + eps) · weight + bias, then SiLU if requested; x [batch, height, width, channels] → the same shape
 */
export function groupnorm(x: Tensor, norm: NormWeights, options: GroupNorm): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const applied = moments(x, norm, options);
  const all = { first: 0, last: x.rows({}) };
  for (const pixels of cutPixels(tape, all, [x, y], PIXELS * tape.device.capabilities.maxWorkgroups)) {
    applyMoments(applied, pixels, view(tape, x, pixels), floatsOf(tape, y, pixels));
  }
  return y;
}

/** A norm whose sums have been recorded. */
export interface Moments {
  x: Tensor;
  bias: Tensor;
  silu: boolean;
  /** [batch, mean and scale of each channel] */
  values: Tensor;
}

export function moments(
  x: Tensor,
  { weight, bias }: NormWeights,
  { groups, eps, silu = false }: GroupNorm,
): Moments {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  if (x.columns % groups !== 0) throw new Error(`groupnorm: ${x.columns} channels in ${groups} groups`);
  const pixels = height * width;
  const { slabPixels, slabs } = slabsOf(pixels);
  const sums = tape.tensor([batch, slabs, 2 * x.stride]);
  const values = tape.tensor([batch, 2 * x.stride]);
  for (const part of slabParts(x, slabPixels)) {
    tape.dispatch('groupnorm-slabs.wgsl', {
      args: {
        quads: x.stride / 4,
        pixels,
        slab_pixels: slabPixels,
        slabs,
        first_image: part.image,
        first_slab: part.first / slabPixels,
        x_first: part.x.first,
      },
      bind: { x: part.x.operand, y: sums },
      groups: () => [groupsOfQuads(x), Math.ceil((part.last - part.first) / slabPixels), part.images],
    });
  }
  tape.dispatch('groupnorm-moments.wgsl', {
    args: {
      stride: x.stride,
      channels: x.columns,
      group_channels: x.columns / groups,
      pixels,
      slab_pixels: slabPixels,
      slabs,
      eps,
    },
    bind: { slabs: sums, weight, y: values },
    groups: () => [groups, batch],
  });
  return { x, bias, silu, values };
}

/** Normalizes pixels, counted over all images, from one view into another. */
export function applyMoments({ x, bias, silu, values }: Moments, all: Pixels, from: View, to: Stored): void {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const pixels = height * width;
  const puts = putsInto(to);
  for (const part of imageParts(all, batch, pixels)) {
    tape.dispatch('groupnorm.wgsl', {
      params: { SILU: silu, PIXELS, ...puts.params },
      args: {
        quads: x.stride / 4,
        y_step: puts.step,
        pixels,
        first_image: part.image,
        first: part.first,
        last: part.last,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, moments: values, bias, ...puts.bind },
      groups: () => [groupsOfQuads(x), Math.ceil((part.last - part.first) / PIXELS), part.images],
    });
  }
}

function groupsOfQuads(x: Tensor): number {
  return Math.ceil(x.stride / 4 / QUADS);
}
