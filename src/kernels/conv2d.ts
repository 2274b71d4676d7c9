// Convolutions of NHWC images, 3×3 and 1×1, with the following operations fused into the store. An image above the binding limit
// takes one dispatch per strip of its rows.

import type { Tensor } from '../gpu/tensor.ts';
import {
  convolution,
  cutWork,
  epilogueOf,
  pixelsOf,
  readsOf,
  stripsOf,
  type Conv2dOptions,
  type Convolution,
} from './convolution.ts';
import { conv2dMatrixKernel, usesConv2dMatrix } from './conv2d-matrix.ts';
import { halvePixels } from './halve-pixels.ts';
import { imageFactors } from './image-factors.ts';
import { weightOperands, type Matrix, type MatrixWindow } from './matrix.ts';
import { floatsOf, size, view, type Pixels, type Stored } from './pixels.ts';
import { sharedTile } from './shared-tile.ts';
import { splitsOf, TILE_ROWS, tilingOf, type ProductKernel } from './tiling.ts';
import { recordWinograd } from './winograd.ts';

/** x [batch, height, width, in] → [batch, height', width', out]; sizes are fixed numbers */
export function conv2d(x: Tensor, weight: Matrix, options: Conv2dOptions = {}): Tensor {
  const conv = convolution(x, weight, options);
  const factors = usesConv2dMatrix(conv) ? imageFactors(x) : null;
  for (const strip of stripsOf(conv, x)) {
    const source = floatsOf(conv.tape, x, strip.source);
    recordStrip(conv, strip, factors ? halvePixels(conv.tape, x, strip.source, source, factors) : source);
    cutWork(conv, strip);
  }
  return conv.y;
}

/** Records the pixels of one strip from those of x, which are f16 where usesConv2dMatrix says so. */
export function recordStrip(conv: Convolution, strip: Pixels, x: Stored): void {
  if (conv.weight.winograd) return recordWinograd(conv, strip, x);
  const { tape, weight, kernel, stride, pad, stored, seen, ySize } = conv;
  const { params, args, bind } = epilogueOf(conv, strip);
  const y = view(tape, conv.y, strip);
  for (const window of weight.windows) {
    const { shader, tuned, rows, ...one } = productKernel(conv, window);
    tape.dispatch(shader, {
      ...(tuned === undefined ? {} : { tuned }),
      params: { ...params, ...one.params, W: window.format.name, ...readsOf(conv) },
      args: {
        x_quads: x.stride / 4,
        y_quads: conv.y.stride / 4,
        ...args,
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
        ...one.args,
      },
      bind: {
        x: x.operand,
        ...(x.factors && { factors: x.factors }),
        y: y.operand,
        ...weightOperands(tape.device, window),
        ...bind,
      },
      groups: () => one.workgroups(window.groups, Math.ceil(size(strip) / rows)),
    });
  }
}

function productKernel(conv: Convolution, window: MatrixWindow): ProductKernel {
  const { format, groups } = window;
  const { tape, weight } = conv;
  const rows = pixelsOf(conv);
  if (usesConv2dMatrix(conv)) return conv2dMatrixKernel(conv, window, rows);
  if (!tape.plain && tape.device.profile.sharedTiles !== null)
    return {
      shader: 'conv2d-shared.wgsl',
      args: {},
      ...sharedTile(tape, { kernel: 'conv2d', weight, format, rows, groups }),
    };
  const splits = splitsFor(conv);
  // All windows have the tiling of the first one.
  const [first] = weight.windows;
  const product = { kernel: 'conv2d', weight, format: first.format, rows, splits };
  const { tuned, tiling } = tilingOf(tape, product);
  const { columnLanes } = tiling;
  return {
    shader: 'conv2d.wgsl',
    tuned,
    rows: tiling.rows,
    params: {
      LANES: tape.lanes,
      TILES: tiling.rows / tape.lanes,
      COLUMN_LANES: columnLanes,
      SPLITS: splits,
    },
    args: {},
    workgroups: (count, tiles) => [Math.ceil((count * 8) / columnLanes), tiles],
  };
}

/**
 * Number of parts that K is divided into. It depends on the size of one image only, so that a batch sums like its single images.
 */
function splitsFor({ tape, weight, ySize }: Convolution): number {
  const lanes = (weight.columns / 4) * Math.ceil((ySize.height * ySize.width) / TILE_ROWS);
  const wanted = tape.device.profile.splits?.convLanes ?? 0;
  return splitsOf(tape, { lanes, wanted, blocks: weight.blocks });
}
