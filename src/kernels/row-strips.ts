// Tensors above the binding limit are processed strip by strip: in ranges of rows that fit one binding of each tensor.

import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Groups, type Operand, type Tape } from '../gpu/tape.ts';
import { paddedRows, type Sizes, type Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

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
export const STEP = 16;

/**
 * Returns strips of tensors with equal numbers of rows, for kernels with a workgroup per `groupRows` rows (Infinity: workgroups
 * walk with a stride), and at most `most` rows, at least 16. One strip covers everything if every tensor fits a binding and its rows fit a
 * dispatch.
 */
export function stripsOf(tape: Tape, tensors: readonly Tensor[], groupRows = 1, most = Infinity): Strip[] {
  const first = tensors[0]!;
  const rows = paddedRows(first.rows(tape.capacity));
  const rowBytes = Math.max(...tensors.map((tensor) => tensor.stride)) * 4;
  const { bindingLimit, maxWorkgroups } = tape.device.capabilities;
  const dispatchRows = Math.min(maxWorkgroups * groupRows, most);
  if (rows * rowBytes <= bindingLimit && rows <= dispatchRows) {
    return [{ firstRow: 0, rows, of: (tensor) => tensor, count: (sizes) => first.rows(sizes) }];
  }
  const each = Math.floor(Math.min(bindingLimit / rowBytes, dispatchRows) / STEP) * STEP;
  if (each === 0) throw new Error(`${STEP} rows of ${rowBytes} bytes exceed one binding of ${bindingLimit}`);
  return Array.from({ length: Math.ceil(rows / each) }, (_, i) => {
    const firstRow = i * each;
    const strip = { firstRow, rows: Math.min(each, rows - firstRow) };
    return {
      ...strip,
      of: (tensor) => ({ tensor, ...strip }),
      count: (sizes) => Math.max(0, Math.min(strip.rows, first.rows(sizes) - firstRow)),
    };
  });
}

/** The dispatches of a kernel over strips. */
interface StripDispatch {
  /** Operands of equal numbers of rows, of which a dispatch binds strips; the first is on the tape. */
  strips: Readonly<Record<string, Tensor>>;
  params?: Params;
  /** Arguments, or those of a strip and its rows at the tape's capacity. */
  args: Record<string, number> | ((strip: Strip, rows: number) => Record<string, number>);
  /** Operands that are bound whole. */
  bind?: Readonly<Record<string, Operand>>;
}

/** Records a kernel for each strip, with `across` workgroups for each row. */
export function dispatchRows(
  shader: string,
  { across, ...dispatch }: StripDispatch & { across?: number },
): void {
  record(shader, dispatch, 1, (_, rows) => (across === undefined ? [rows] : [across, rows]));
}

/** Like dispatchRows, for a kernel whose lanes walk through the quads of a strip, so many a row, with a stride. */
export function dispatchQuads(
  shader: string,
  { quads, ...dispatch }: StripDispatch & { quads: number },
): void {
  record(shader, dispatch, Infinity, (tape, rows) => walkers(tape, rows * quads));
}

function record(
  shader: string,
  { strips, params, args, bind }: StripDispatch,
  groupRows: number,
  groups: (tape: Tape, rows: number) => Groups,
): void {
  const tensors = Object.entries(strips);
  const tape = tapeOf(tensors[0]![1]);
  for (const strip of stripsOf(tape, Object.values(strips), groupRows))
    tape.dispatch(shader, {
      ...(params && { params }),
      args: typeof args === 'function' ? args(strip, strip.count(tape.capacity)) : args,
      bind: { ...Object.fromEntries(tensors.map(([name, tensor]) => [name, strip.of(tensor)])), ...bind },
      groups: (sizes) => groups(tape, strip.count(sizes)),
    });
}

/** Parts of the rows of x and of picked ones, and what a kernel that reads those needs: `lib/pick.*.wgsl`. */
export interface PickedRows {
  x: Operand;
  y: Operand;
  params: { PICK: 'index' | 'window'; WINDOWED: boolean };
  args: { first_index: number; first_source: number; source_rows: number };
  /** Rows of this part of y in a step. */
  count(sizes: Sizes): number;
}

/** What kernels that read all rows give in place of the args of `PickedRows`. */
export const ALL_ROWS = { first_index: 0, first_source: 0, source_rows: 0 };

/** Divides rows picked from x into y: every part of y meets every part of x, and a dispatch writes the rows whose sources it binds. */
export function pickedRows(tape: Tape, x: Tensor, y: Tensor): PickedRows[] {
  const [sources, targets] = [stripsOf(tape, [x], Infinity), stripsOf(tape, [y])];
  const isWhole = sources.length === 1 && targets.length === 1;
  return targets.flatMap((target) =>
    sources.map((source) => ({
      x: source.of(x),
      y: target.of(y),
      params: { PICK: isWhole ? 'index' : 'window', WINDOWED: !isWhole },
      args: { first_index: target.firstRow, first_source: source.firstRow, source_rows: source.rows },
      count: (sizes) => target.count(sizes),
    })),
  );
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
