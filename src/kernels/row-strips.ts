// Tensors above the binding limit are walked strip by strip: ranges of rows that one binding takes of each of them.

import type { Operand, Tape } from '../gpu/tape.ts';
import { paddedRows, type Sizes, type Tensor } from '../gpu/tensor.ts';

export interface Strip {
  firstRow: number;
  /** Rows at most; with those behind the last one, for kernels that take whole tiles. */
  rows: number;
  /** The strip of a tensor that has as many rows. */
  of(tensor: Tensor): Operand;
  /** Rows of the strip in a step. */
  count(sizes: Sizes): number;
}

/** Tiles of a matmul; any such row begins where a binding may. */
const STEP = 16;

/**
 * Strips of tensors with as many rows each, for kernels that give a workgroup `groupRows` rows (Infinity: its workgroups walk
 * on); one of the whole where no tensor is too large for a binding, nor its rows too many for a dispatch.
 */
export function stripsOf(tape: Tape, tensors: readonly Tensor[], groupRows = 1): Strip[] {
  const first = tensors[0]!;
  const rows = paddedRows(first.rows(tape.capacity));
  const rowBytes = Math.max(...tensors.map((tensor) => tensor.stride)) * 4;
  const { bindingLimit, maxWorkgroups } = tape.device.capabilities;
  const dispatchRows = maxWorkgroups * groupRows;
  if (rows * rowBytes <= bindingLimit && rows <= dispatchRows) {
    return [{ firstRow: 0, rows, of: (tensor) => tensor, count: (sizes) => first.rows(sizes) }];
  }
  const most = Math.floor(Math.min(bindingLimit / rowBytes, dispatchRows) / STEP) * STEP;
  if (most === 0) throw new Error(`${STEP} rows of ${rowBytes} bytes exceed one binding of ${bindingLimit}`);
  return Array.from({ length: Math.ceil(rows / most) }, (_, i) => {
    const firstRow = i * most;
    const strip = { firstRow, rows: Math.min(most, rows - firstRow) };
    return {
      ...strip,
      of: (tensor) => ({ tensor, ...strip }),
      count: (sizes) => Math.max(0, Math.min(strip.rows, first.rows(sizes) - firstRow)),
    };
  });
}

/** Pixels that one binding takes, of a image and of the tensor that has a row for each of its pixels. */
export interface Band {
  /** Pixels before it in its piece of the image, which begins with a row. */
  first: number;
  pixels: number;
  image: Operand;
  perPixel: Operand;
}

/** image [items, height, width] and perPixel [items, height, width, channels] in pieces. */
export function bandsOf(tape: Tape, image: Tensor, perPixel: Tensor): Band[] {
  const width = image.columns;
  const all = perPixel.rows(tape.capacity);
  const most = mostRows(tape, perPixel);
  const bands = stripsOf(tape, [image], Infinity);
  if (bands.length === 1 && all <= most) return [{ first: 0, pixels: all, image, perPixel }];
  return bands.flatMap((band) => {
    const from = band.firstRow * width;
    const count = Math.min(band.rows * width, all - from);
    return Array.from({ length: Math.ceil(count / most) }, (_, i): Band => {
      const first = i * most;
      const pixels = Math.min(most, count - first);
      const rows = { tensor: perPixel, firstRow: from + first, rows: pixels };
      return { first, pixels, image: band.of(image), perPixel: rows };
    });
  });
}

function mostRows(tape: Tape, tensor: Tensor): number {
  return Math.floor(tape.device.capabilities.bindingLimit / (tensor.stride * 4) / STEP) * STEP;
}
