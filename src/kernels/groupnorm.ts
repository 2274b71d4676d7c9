// GroupNorm of NHWC images: mean and variance over an image's pixels and a group's channels. Sums are computed by slabs, which
// depend on the size of one image only, so that neither the batch nor strips change a bit.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, fits, imageShape, mostPixels, view, type Pixels, type View } from './pixels.ts';

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

const MOST_SLABS = 256;
const LEAST_SLAB = 64;
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
    applyMoments(applied, pixels, view(tape, x, pixels), view(tape, y, pixels));
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
  const slabPixels = Math.max(LEAST_SLAB, Math.ceil(pixels / MOST_SLABS));
  const slabs = Math.ceil(pixels / slabPixels);
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
export function applyMoments({ x, bias, silu, values }: Moments, all: Pixels, from: View, to: View): void {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const pixels = height * width;
  for (const part of imageParts(all, batch, pixels)) {
    tape.dispatch('groupnorm.wgsl', {
      params: { SILU: silu, PIXELS },
      args: {
        quads: x.stride / 4,
        pixels,
        first_image: part.image,
        first: part.first,
        last: part.last,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, moments: values, bias, y: to.operand },
      groups: () => [groupsOfQuads(x), Math.ceil((part.last - part.first) / PIXELS), part.images],
    });
  }
}

function groupsOfQuads(x: Tensor): number {
  return Math.ceil(x.stride / 4 / QUADS);
}

/** The pixels [first, last) of each of several images. */
interface Part extends Pixels {
  image: number;
  images: number;
}

/** Parts of the work: all images together if they fit, otherwise each image by itself. */
function imageParts({ first, last }: Pixels, batch: number, pixels: number): Part[] {
  if (first === 0 && last === batch * pixels) return [{ image: 0, images: batch, first: 0, last: pixels }];
  const parts: Part[] = [];
  for (let image = Math.floor(first / pixels); image * pixels < last; image++) {
    const before = image * pixels;
    const end = Math.min(last - before, pixels);
    parts.push({ image, images: 1, first: Math.max(first - before, 0), last: end });
  }
  return parts;
}

/** Ranges of whole slabs that fit a binding. */
function slabParts(x: Tensor, slabPixels: number): (Part & { x: View })[] {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const pixels = height * width;
  if (fits(tape, x)) {
    return [{ image: 0, images: batch, first: 0, last: pixels, x: { operand: x, first: 0 } }];
  }
  const most = Math.floor(mostPixels(tape, x) / slabPixels) * slabPixels;
  if (most === 0)
    throw new Error(`groupnorm: ${slabPixels} pixels of [${x.shape.join(', ')}] exceed a binding`);
  return Array.from({ length: batch }, (_, image) => {
    const before = image * pixels;
    return cutPixels(tape, { first: 0, last: pixels }, [x], most).map(({ first, last }) => ({
      image,
      images: 1,
      first,
      last,
      x: view(tape, x, { first: before + first, last: before + last }),
    }));
  }).flat();
}
