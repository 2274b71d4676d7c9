// Images above the binding limit are walked strip by strip: a dispatch binds the pixels that it reads and writes, and a
// uniform gives the number of pixels before them.

import { spanOf, type Operand } from '../gpu/operand.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** Rows of a tensor, counted over all images. */
export interface Pixels {
  first: number;
  last: number;
}

/** An operand that binds a tensor's pixels from `first` on. */
export interface View {
  operand: Operand;
  first: number;
}

/** Pixels as a kernel leaves them to a convolution: in f32, or in f16 after a multiplication by the factor of their image. */
export interface Stored extends View {
  /** Words from one pixel to the next. */
  stride: number;
  /** See image-factors.ts; null: pixels are f32. */
  factors: Tensor | null;
}

/** Pixels between offsets at which a binding may begin: rows are padded to 128 bytes, offsets are multiples of 256. */
const ALIGNMENT = 2;
/** Tensors have a number of rows that is rounded up to a multiple of this. */
const TILE = 16;

export function size({ first, last }: Pixels): number {
  return last - first;
}

/** Returns the whole tensor if it fits one binding, otherwise a slice that holds the pixels. */
export function view(tape: Tape, tensor: Tensor, { first, last }: Pixels): View {
  if (fits(tape, tensor)) return { operand: tensor, first: 0 };
  const firstRow = first - (first % ALIGNMENT);
  return { operand: { tensor, firstRow, rows: last - firstRow }, first: firstRow };
}

export function floatsOf(tape: Tape, tensor: Tensor, pixels: Pixels): Stored {
  return { ...view(tape, tensor, pixels), stride: tensor.stride, factors: null };
}

/** How a kernel writes pixels: lib/put-pixel.* of the shaders. `step`: elements of four channels from one pixel to the next. */
export function putsInto({ operand, stride, factors }: Stored) {
  return {
    params: { PUT: factors ? 'halves' : 'floats' },
    step: stride / (factors ? 2 : 4),
    bind: { y: operand, ...(factors && { factors }) },
  };
}

export function fits(tape: Tape, tensor: Tensor): boolean {
  return spanOf(tensor, tape.capacity) <= tape.device.capabilities.bindingLimit;
}

/** Number of a tensor's pixels that fit a binding wherever they begin, also as a tensor of their own. */
export function mostPixels(tape: Tape, tensor: Tensor): number {
  const { bindingLimit } = tape.device.capabilities;
  const most = Math.floor(bindingLimit / (4 * tensor.stride * TILE)) * TILE - (ALIGNMENT - 1);
  if (most < 1) throw new Error(`${TILE} pixels of [${tensor.shape.join(', ')}] exceed one binding`);
  return most;
}

/**
 * Divides pixels into ranges for a kernel that reads and writes these tensors at the same pixels; a dispatch takes at most `most`.
 */
export function cutPixels(tape: Tape, { first, last }: Pixels, tensors: Tensor[], most = Infinity): Pixels[] {
  const count = Math.min(most, ...tensors.map((x) => (fits(tape, x) ? Infinity : mostPixels(tape, x))));
  const cut: Pixels[] = [];
  for (let at = first; at < last; at += count) cut.push({ first: at, last: Math.min(last, at + count) });
  return cut;
}

/** [batch, height, width] of an image tensor. */
export function imageShape(x: Tensor): [batch: number, height: number, width: number] {
  const [batch, height, width] = x.shape;
  if (
    x.shape.length !== 4 ||
    typeof batch !== 'number' ||
    typeof height !== 'number' ||
    typeof width !== 'number'
  )
    throw new Error(
      `[${x.shape.join(', ')}] is not a shape of images: batch, height, width, channels, all numbers`,
    );
  return [batch, height, width];
}
