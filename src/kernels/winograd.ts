// 3×3 convolutions of stride 1 by Winograd's F(2×2, 3×3): 16 products for four outputs instead of 36. Inputs are transformed to 16
// planes, multiplied plane by plane with weights that were transformed when they were packed, and transformed back; some megabytes
// of planes at a time. For CPUs, where a convolution's cost is its products.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { epilogueOf, pixelsOf, readsOf, type Convolution } from './convolution.ts';
import { weightOperands, type Matrix } from './matrix.ts';
import { view, type Pixels, type View } from './pixels.ts';
import { tilingOf, type Tiled } from './tiling.ts';
import { spread } from './walkers.ts';

const PLANES = 16;
/**
 * Bytes of the planes of inputs, or of products, that are processed at once: few enough to stay in a cache (60 instead of 55
 * GFLOP/s for 256 to 128 channels), but not fewer than the weights, which are read again each time.
 */
const LEAST_BYTES = 2 * 2 ** 20;
const MOST_BYTES = 16 * 2 ** 20;
/**
 * Limit on the quads of inputs that a lane holds for all its rows; four times as many took four times as long to compile on
 * llvmpipe.
 */
const MOST_HELD = 320;
/** Quads of channels that are held of small weights. */
const FEW_HELD = 16;

/** Tiles of 2×2 outputs, [first, last) counted over all images. */
interface Tiles extends Pixels {
  /** Rows and columns of tiles in an image. */
  high: number;
  wide: number;
  /** Rows from one plane to the next: a multiple of the product's tile height. */
  planeRows: number;
}

/** Records the pixels of one strip, which holds whole rows of tiles, from a view of x. */
export function recordWinograd(conv: Convolution, strip: Pixels, x: View): void {
  const { tape, weight } = conv;
  const [{ format }] = weight.windows;
  const tiled = tilingOf(tape, { kernel: 'winograd', weight, format, rows: pixelsOf(conv), splits: 1 });
  for (const tiles of tilesOf(conv, strip, tiled.tiling.rows)) {
    const inputs = tape.tensor([PLANES * tiles.planeRows, weight.k]);
    const products = tape.tensor([PLANES * tiles.planeRows, weight.columns]);
    recordInput(conv, tiles, x, inputs);
    recordProduct(conv, tiles, tiled, inputs, products);
    recordOutput(conv, tiles, strip, products);
  }
}

function tilesOf({ tape, weight, ySize, xQuads, y }: Convolution, strip: Pixels, tileRows: number): Tiles[] {
  const high = Math.ceil(ySize.height / 2);
  const wide = Math.ceil(ySize.width / 2);
  const before = (pixel: number): number => {
    const row = pixel / ySize.width;
    return (Math.floor(row / ySize.height) * high + (row % ySize.height) / 2) * wide;
  };
  const rowBytes = 16 * Math.max(xQuads, y.stride / 4);
  const weightBytes = weight.windows.reduce((sum, { codes }) => sum + codes.size, 0);
  const wanted = Math.min(Math.max(weightBytes, LEAST_BYTES), MOST_BYTES);
  const bytes = Math.min(wanted, tape.device.capabilities.bindingLimit);
  const most = Math.max(1, Math.floor(bytes / (PLANES * rowBytes * tileRows))) * tileRows;
  const cut: Tiles[] = [];
  for (let first = before(strip.first); first < before(strip.last); first += most) {
    const last = Math.min(first + most, before(strip.last));
    cut.push({ first, last, high, wide, planeRows: Math.ceil((last - first) / tileRows) * tileRows });
  }
  return cut;
}

function recordInput(conv: Convolution, tiles: Tiles, x: View, inputs: Tensor): void {
  const { tape, stored, seen, xQuads } = conv;
  tape.dispatch('winograd-input.wgsl', {
    params: readsOf(conv),
    args: {
      quads: xQuads,
      x_height: stored.height,
      x_width: stored.width,
      height: seen.height,
      width: seen.width,
      tiles_high: tiles.high,
      tiles_wide: tiles.wide,
      first: tiles.first,
      last: tiles.last,
      plane_tiles: tiles.planeRows,
      x_first: x.first,
    },
    bind: { x: x.operand, planes: inputs },
    groups: () => spread(tape, (tiles.last - tiles.first) * xQuads),
  });
}

function recordProduct(
  { tape, weight }: Convolution,
  tiles: Tiles,
  { tuned, tiling: { rows: tileRows, columnLanes } }: Tiled,
  inputs: Tensor,
  products: Tensor,
): void {
  for (const window of weight.windows) {
    tape.dispatch('winograd-product.wgsl', {
      tuned,
      params: {
        LANES: tape.lanes,
        TILES: tileRows / tape.lanes,
        COLUMN_LANES: columnLanes,
        HELD: heldQuads(tape, weight, tileRows),
        W: window.format.name,
      },
      args: {
        x_quads: inputs.stride / 4,
        y_quads: products.stride / 4,
        plane_rows: tiles.planeRows,
        channel_quads: Math.ceil(weight.k / 4),
        plane_blocks: weight.blocks / PLANES,
        first_group: window.firstGroup,
        groups: window.groups,
        turns: Math.ceil((window.groups * 8) / columnLanes),
      },
      bind: { x: inputs, y: products, ...weightOperands(tape.device, window) },
      groups: () => [tiles.planeRows / tileRows, PLANES],
    });
  }
}

/** Quads of channels that a lane holds of a row, a multiple of 8: few where the weight has few, because drivers compile longer for a longer array. */
function heldQuads({ lanes }: Tape, { k }: Matrix, tileRows: number): number {
  const most = Math.max(8, Math.floor(((MOST_HELD / tileRows) * lanes) / 8) * 8);
  return k <= 4 * FEW_HELD ? Math.min(most, FEW_HELD) : most;
}

function recordOutput(conv: Convolution, tiles: Tiles, strip: Pixels, products: Tensor): void {
  const { tape, ySize } = conv;
  const { params, args, bind } = epilogueOf(conv, strip);
  const y = view(tape, conv.y, strip);
  const quads = conv.y.stride / 4;
  tape.dispatch('winograd-output.wgsl', {
    params,
    args: {
      ...args,
      y_quads: quads,
      y_height: ySize.height,
      y_width: ySize.width,
      tiles_high: tiles.high,
      tiles_wide: tiles.wide,
      first: tiles.first,
      last: tiles.last,
      plane_tiles: tiles.planeRows,
      y_first: y.first,
    },
    bind: { planes: products, y: y.operand, ...bind },
    groups: () => spread(tape, (tiles.last - tiles.first) * quads),
  });
}
