// Convolutions of NHWC images, 3×3 and 1×1, with what follows folded into the store. Where an image is above the binding
// limit, one dispatch a strip of its rows.

import type { Tape } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { weightOperands, type Matrix } from './matrix.ts';
import { fits, imageShape, mostPixels, view, type Pixels, type View } from './pixels.ts';

export interface Size {
  height: number;
  width: number;
}

export interface Conv2dOptions {
  stride?: 1 | 2 | undefined;
  /** Zeros around the image of a 3×3: one on each side, or one below and to the right. */
  padding?: 'same' | 'after' | undefined;
  /** Nearest neighbours, twice the size or to a size, before the convolution. */
  upsample?: boolean | Size | undefined;
  /** [batch, out], or so many columns, added to every pixel of its image; goes with a bias. */
  perImage?: Tensor | Columns | undefined;
  /** Of the result's shape, added before the activation. */
  residual?: Tensor | undefined;
  /** The result takes the residual's place, which nothing reads any more. */
  inPlace?: boolean | undefined;
  activation?: keyof typeof ACTIVATIONS | undefined;
}

const ACTIVATIONS = { silu: 1, relu: 2 };
/** Pixels of a tile. CPUs, which pay for every load, gain by more of them to a weight: 29 to 38 GFLOP/s on llvmpipe. */
const TILE = 16;
const CPU_TILE = 24;

/** x [batch, height, width, in] → [batch, height', width', out]; sizes are plain numbers */
export function conv2d(x: Tensor, weight: Matrix, options: Conv2dOptions = {}): Tensor {
  const conv = convolution(x, weight, options);
  for (const strip of stripsOf(conv, x)) recordStrip(conv, strip, view(conv.tape, x, strip.source));
  return conv.y;
}

/** A convolution whose strips are still to be recorded. */
export interface Convolution {
  tape: Tape;
  weight: Matrix;
  options: Conv2dOptions;
  batch: number;
  kernel: number;
  stride: number;
  pad: number;
  /** Of x, as stored and as the taps see it. */
  stored: Size;
  seen: Size;
  xQuads: number;
  y: Tensor;
  ySize: Size;
}

/** Pixels of y, and those of x that they are made of. */
export interface Strip extends Pixels {
  source: Pixels;
}

export function convolution(x: Tensor, weight: Matrix, options: Conv2dOptions): Convolution {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  if (x.columns !== weight.k) throw new Error(`conv2d: x has ${x.columns} channels, the weight ${weight.k}`);
  const { stride = 1, padding = 'same', upsample = false, perImage, residual, inPlace } = options;
  const kernel = Math.sqrt(weight.taps);
  const seen =
    typeof upsample === 'object'
      ? upsample
      : upsample
        ? { height: 2 * height, width: 2 * width }
        : { height, width };
  const around = kernel === 1 ? 0 : padding === 'same' ? 2 : 1;
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

/** Columns beside others must end at a whole quad: what follows them is no padding. */
function expectPerImage(perImage: Tensor | Columns, batch: number, out: number): void {
  const { x, first } = 'x' in perImage ? perImage : { x: perImage, first: 0 };
  const isWhole = x.columns === out;
  if (x.shape.length !== 2 || x.shape[0] !== batch || first + out > x.columns || (!isWhole && out % 4 !== 0))
    throw new Error(`conv2d: perImage is [${x.shape.join(', ')}] from ${first} on, for [${batch}, ${out}]`);
}

/** Strips of whole rows that bindings and a dispatch take; of at most `most` pixels where one row allows it. */
export function stripsOf(conv: Convolution, x: Tensor, most = Infinity): Strip[] {
  const { tape, y, batch, ySize } = conv;
  const xMost = fits(tape, x) ? Infinity : mostPixels(tape, x);
  const yMost = fits(tape, y) ? Infinity : mostPixels(tape, y);
  const dispatchMost = tape.device.capabilities.maxWorkgroups * TILE;
  const rows = batch * ySize.height;
  const strips: Strip[] = [];
  // A norm before it walks what the strip is made of, as many pixels a workgroup.
  const allows = (strip: Strip): boolean =>
    size(strip) <= Math.min(yMost, dispatchMost) && size(strip.source) <= Math.min(xMost, dispatchMost);
  for (let row = 0; row < rows;) {
    let strip = stripOf(conv, row, 1);
    if (!allows(strip))
      throw new Error(`conv2d: a row of [${y.shape.join(', ')}] and what it is made of exceed a binding`);
    let count = 1;
    for (; row + count < rows; count++) {
      const longer = stripOf(conv, row, count + 1);
      if (!allows(longer) || size(longer) > most) break;
      strip = longer;
    }
    strips.push(strip);
    row += count;
  }
  return strips;
}

function size({ first, last }: Pixels): number {
  return last - first;
}

/** Rows of y, counted over all images, with the rows of x that their taps reach. */
function stripOf(
  { kernel, stride, pad, stored, seen, ySize }: Convolution,
  firstRow: number,
  rows: number,
): Strip {
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

/** Records the pixels of one strip from a view of x. */
export function recordStrip(conv: Convolution, strip: Pixels, x: View): void {
  const { tape, weight, options, kernel, stride, pad, stored, seen, ySize } = conv;
  const { residual, inPlace, activation } = options;
  const perImage = options.perImage && quadsOf(options.perImage);
  const y = view(tape, conv.y, strip);
  const columnLanes = columnLanesOf(tape);
  const tile = tileOf(tape);
  for (const window of weight.windows) {
    tape.dispatch('conv2d.wgsl', {
      params: {
        LANES: tape.lanes,
        TILES: tile / tape.lanes,
        ROLLED: tape.device.summary.software,
        COLUMN_LANES: columnLanes,
        SPLITS: splitsFor(conv),
        W: weight.format,
        ADDEND: weight.bias ? (perImage ? 'image' : 'bias') : 'none',
        RESIDUAL: residual ? (inPlace ? 'in-place' : 'add') : 'none',
        UPSAMPLED: seen.height !== stored.height || seen.width !== stored.width,
        ACTIVATION: activation ? ACTIVATIONS[activation] : 0,
      },
      args: {
        x_quads: conv.xQuads,
        y_quads: conv.y.stride / 4,
        image_quads: perImage?.stride ?? 0,
        image_first: perImage?.first ?? 0,
        columns: weight.columns,
        channel_quads: Math.ceil(weight.k / 4),
        tap_blocks: weight.blocks / weight.taps,
        blocks: weight.blocks,
        kernel,
        stride,
        pad,
        x_height: stored.height,
        x_width: stored.width,
        height: seen.height,
        width: seen.width,
        y_height: ySize.height,
        y_width: ySize.width,
        first: strip.first,
        last: strip.last,
        x_first: x.first,
        y_first: y.first,
        first_group: window.firstGroup,
        groups: window.groups,
      },
      bind: {
        x: x.operand,
        y: y.operand,
        ...weightOperands(window),
        ...(weight.bias ? { bias: weight.bias } : {}),
        ...(perImage ? { per_image: perImage.x } : {}),
        ...(residual && !inPlace ? { residual: view(tape, residual, strip).operand } : {}),
      },
      groups: () => [Math.ceil((window.groups * 8) / columnLanes), Math.ceil(size(strip) / tile)],
    });
  }
}

/** Lanes of a workgroup that own columns. Software adapters lose nothing by few, and waste least at the last columns. */
function columnLanesOf({ device: { summary, capabilities } }: Tape): number {
  return summary.software ? Math.max(8, summary.subgroupMaxSize) : capabilities.columnLanes;
}

function tileOf({ lanes, device }: Tape): number {
  return device.summary.software && lanes > 1 && CPU_TILE % lanes === 0 ? CPU_TILE : TILE;
}

/** Parts that K is shared out among, as for matmul; from the size of one image, so that a batch sums as its images do. */
function splitsFor({ tape, weight, ySize }: Convolution): number {
  if (tape.plain || tape.device.summary.software) return 1;
  const lanes = (weight.columns / 4) * Math.ceil((ySize.height * ySize.width) / TILE);
  const most = Math.min(8, tape.device.capabilities.maxInvocations / columnLanesOf(tape));
  let splits = 1;
  while (2 * splits <= most && lanes * splits < 16384 && weight.blocks >= 4 * splits) splits *= 2;
  return splits;
}
