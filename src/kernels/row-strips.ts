// Tensors above the binding limit are processed strip by strip: in ranges of rows that fit one binding of each tensor.

import type { Operand, Tape } from '../gpu/tape.ts';
import { paddedRows, type Sizes, type Tensor } from '../gpu/tensor.ts';

export interface Strip {
  firstRow: number;
  /** Limit on the rows; including those beyond the last one, for kernels that process whole tiles. */
  rows: number;
  /** Returns the strip of a tensor with the same number of rows. */
  of(tensor: Tensor): Operand;
  /** Rows of the strip in a step. */
  count(sizes: Sizes): number;
}

/** Rows of a matmul tile; a binding may begin at any multiple of it. */
const STEP = 16;

/**
 * Returns strips of tensors with equal numbers of rows, for kernels with a workgroup per `groupRows` rows (Infinity: workgroups
 * walk with a stride). One strip covers everything if every tensor fits a binding and its rows fit a dispatch.
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

/** Pixels that fit one binding of an image and of the tensor that has a row for each of its pixels. */
export interface Band {
  /** Pixels before these in the bound part of the image, which begins at a whole row. */
  first: number;
  pixels: number;
  image: Operand;
  perPixel: Operand;
}

/** Divides image [items, height, width] and perPixel [items, height, width, channels] into bands. */
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
