// A convolution's description, checked, and the strips of rows that it is computed in; shared by its kernels.

import type { Operand } from '../gpu/operand.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { mostRows, mostWork } from './dispatch-work.ts';
import type { Matrix } from './matrix.ts';
import { fits, imageShape, mostPixels, size, view, type Pixels } from './pixels.ts';
import { TILE_ROWS } from './tiling.ts';

export interface Size {
  height: number;
  width: number;
}

export interface Conv2dOptions {
  stride?: 1 | 2 | undefined;
  /** Padding of a 3×3 convolution: a zero on each side, one below and to the right, or a copy of the nearest pixel on each side. */
  padding?: 'same' | 'after' | 'edges' | undefined;
  /** Nearest-neighbour upsampling before the convolution, to twice the size or to a given size. */
  upsample?: boolean | Size | undefined;
  /** [batch, …, out] of `batch` rows, or a range of columns, added to every pixel of its image; requires a bias. */
  perImage?: Tensor | Columns | undefined;
  /** Tensor of the result's shape that is added before the activation. */
  residual?: Tensor | undefined;
  /** The result overwrites the residual, which no later kernel reads. */
  inPlace?: boolean | undefined;
  activation?: keyof typeof ACTIVATIONS | undefined;
}

const ACTIVATIONS = { silu: 1, relu: 2, 'leaky-relu': 3 };

/** A convolution whose strips have not been recorded yet. */
export interface Convolution {
  tape: Tape;
  weight: Matrix;
  options: Conv2dOptions;
  batch: number;
  kernel: number;
  stride: number;
  pad: number;
  /** Size of x as stored, and as the taps see it (upsampled). */
  stored: Size;
  seen: Size;
  xQuads: number;
  y: Tensor;
  ySize: Size;
}

/** Pixels of y, and the pixels of x from which they are computed. */
export interface ConvolutionStrip extends Pixels {
  source: Pixels;
}

export function convolution(x: Tensor, weight: Matrix, options: Conv2dOptions): Convolution {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  if (x.columns !== weight.k) throw new Error(`conv2d: x has ${x.columns} channels, the weight ${weight.k}`);
  const { stride = 1, padding = 'same', upsample = false, perImage, residual, inPlace } = options;
  const { kernel } = weight;
  if (weight.winograd && (stride !== 1 || padding === 'after'))
    throw new Error("conv2d: Winograd's weights are for stride 1 and padding all round");
  const seen =
    typeof upsample === 'object'
      ? upsample
      : upsample
        ? { height: 2 * height, width: 2 * width }
        : { height, width };
  const around = kernel === 1 ? 0 : padding === 'after' ? 1 : 2;
  const extent = (size: number): number => Math.floor((size + around - kernel) / stride) + 1;
  const ySize = { height: extent(seen.height), width: extent(seen.width) };
  const shape = [batch, ySize.height, ySize.width, weight.columns];
  const y = inPlace && residual ? residual : tape.tensor(shape);
  if (perImage) expectPerImage(perImage, batch, weight.columns);
  expectShape('residual', residual, shape);
  if (perImage && !weight.bias) throw new Error('conv2d: perImage goes with a bias');
  const pad = around === 2 ? 1 : 0;
  const xQuads = x.stride / 4;
  return {
    tape,
    weight,
    options,
    batch,
    kernel,
    stride,
    pad,
    stored: { height, width },
    seen,
    xQuads,
    y,
    ySize,
  };
}

function expectShape(what: string, tensor: Tensor | undefined, shape: readonly unknown[]): void {
  if (tensor && tensor.shape.join() !== shape.join())
    throw new Error(`conv2d: ${what} is [${tensor.shape.join(', ')}], not [${shape.join(', ')}]`);
}

/** A range of columns must end at a whole quad, because the columns after it are not padding. */
function expectPerImage(perImage: Tensor | Columns, batch: number, out: number): void {
  const { x, first } = 'x' in perImage ? perImage : { x: perImage, first: 0 };
  const isWhole = x.columns === out;
  if (x.rows({}) !== batch || first + out > x.columns || (!isWhole && out % 4 !== 0))
    throw new Error(`conv2d: perImage is [${x.shape.join(', ')}] from ${first} on, for [${batch}, ${out}]`);
}

/**
 * Strips of whole rows that fit the bindings and one dispatch; of at most `given` pixels, and within the work of a dispatch, if one row allows
 * it.
 */
export function stripsOf(conv: Convolution, x: Tensor, given = Infinity): ConvolutionStrip[] {
  const { tape, y, batch, ySize } = conv;
  const xMost = fits(tape, x) ? Infinity : mostPixels(tape, x);
  const yMost = fits(tape, y) ? Infinity : mostPixels(tape, y);
  const dispatchMost = tape.device.capabilities.maxWorkgroups * TILE_ROWS;
  const most = Math.min(given, mostRows(tape, pixelWork(conv)));
  const rows = batch * ySize.height;
  // A preceding norm walks the strip's input pixels with as many pixels per workgroup, so these are limited too.
  const allows = (strip: ConvolutionStrip): boolean =>
    size(strip) <= Math.min(yMost, dispatchMost) && size(strip.source) <= Math.min(xMost, dispatchMost);
  // Winograd's tiles are two rows high and are not cut.
  const mayEnd = (row: number): boolean => !conv.weight.winograd || (row % ySize.height) % 2 === 0;
  const strips: ConvolutionStrip[] = [];
  for (let row = 0; row < rows;) {
    let strip: ConvolutionStrip | null = null;
    let end = row;
    for (let next = row + 1; next <= rows; next++) {
      if (!mayEnd(next)) continue;
      const longer = stripOf(conv, row, next - row);
      if (!allows(longer) || (strip && size(longer) > most)) break;
      [strip, end] = [longer, next];
    }
    if (!strip)
      throw new Error(`conv2d: a row of [${y.shape.join(', ')}] and what it is made of exceed a binding`);
    strips.push(strip);
    row = end;
  }
  return strips;
}

/** Ends a segment after a strip of a convolution whose work is divided, since a driver may also end what is submitted at once. */
export function cutWork(conv: Convolution, strip: Pixels): void {
  const { tape } = conv;
  if (size(strip) < pixelsOf(conv) && pixelsOf(conv) * pixelWork(conv) > mostWork(tape)) tape.cut();
}

/** Multiply-adds of a pixel. */
function pixelWork({ weight: { taps, k, columns } }: Convolution): number {
  return taps * k * columns;
}

/** Rows of y, counted over all images, with the rows of x that their taps read. */
function stripOf(
  { kernel, stride, pad, stored, seen, ySize }: Convolution,
  firstRow: number,
  rows: number,
): ConvolutionStrip {
  const reached = (row: number, tap: number): number => {
    const at = Math.min(Math.max((row % ySize.height) * stride - pad + tap, 0), seen.height - 1);
    const image = Math.floor(row / ySize.height);
    return image * stored.height + Math.floor((at * stored.height) / seen.height);
  };
  const lastRow = firstRow + rows - 1;
  return {
    first: firstRow * ySize.width,
    last: (lastRow + 1) * ySize.width,
    source: {
      first: reached(firstRow, 0) * stored.width,
      last: (reached(lastRow, kernel - 1) + 1) * stored.width,
    },
  };
}

/** Pixels of y in all images. */
export function pixelsOf({ batch, ySize }: Convolution): number {
  return batch * ySize.height * ySize.width;
}

function isUpsampled({ seen, stored }: Convolution): boolean {
  return seen.height !== stored.height || seen.width !== stored.width;
}

/** Parameters that say what the taps of a kernel read. */
export const readsOf = (conv: Convolution) => ({
  UPSAMPLED: isUpsampled(conv),
  EDGES: conv.options.padding === 'edges' && conv.kernel > 1,
});

/** Operands and parameters of the convolution's epilogue: lib/addend, lib/residual and lib/activation. */
export function epilogueOf({ tape, weight, options }: Convolution, strip: Pixels) {
  const { residual, inPlace, activation } = options;
  const perImage = options.perImage && quadsOf(options.perImage);
  const bind: Record<string, Operand> = {
    ...(weight.bias ? { bias: weight.bias } : {}),
    ...(perImage ? { per_image: perImage.x } : {}),
    ...(residual && !inPlace ? { residual: view(tape, residual, strip).operand } : {}),
  };
  return {
    params: {
      ADDEND: weight.bias ? (perImage ? 'image' : 'bias') : 'none',
      RESIDUAL: residual ? (inPlace ? 'in-place' : 'add') : 'none',
      ACTIVATION: activation ? ACTIVATIONS[activation] : 0,
    },
    args: {
      image_quads: perImage?.stride ?? 0,
      image_first: perImage?.first ?? 0,
      columns: weight.columns,
    },
    bind,
  };
}
