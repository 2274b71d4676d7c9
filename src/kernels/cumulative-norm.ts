// A norm over time: each row by the mean and the variance of all rows up to it.

import { tapeOf, type Operand, type Tape } from '../gpu/tape.ts';
import { paddedRows, type Tensor } from '../gpu/tensor.ts';
import { STEP } from './row-strips.ts';
import { rowLanes } from './wide-row.ts';

interface CumulativeNorm {
  eps: number;
  /** The first row that counts, and the one behind the last; others become zeros. */
  first: number;
  end: number;
}

/** max((x − mean) / sqrt(variance + eps) · weight, 0); x [1, rows, places, channels], weight [channels] → x's shape */
export function cumulativeNorm(x: Tensor, weight: Tensor, { eps, first, end }: CumulativeNorm): Tensor {
  const [, rows, places] = x.shape as number[];
  const channels = x.columns;
  if (channels % 4 !== 0 || weight.columns !== channels)
    throw new Error(
      `cumulativeNorm: [${x.shape.join(', ')}] by ${weight.columns}, a multiple of 4 is wanted`,
    );
  const tape = tapeOf(x);
  const quads = (places! * x.stride) / 4;
  const params = rowLanes(tape, quads);
  const args = {
    quads,
    place_quads: x.stride / 4,
    channel_quads: channels / 4,
    values: places! * channels,
    first,
    end,
    eps,
  };
  const strips = stripsOfRows(tape, x);
  const sumsOf = (sums: Tensor | null): Tensor => {
    const y = tape.tensor([1, rows!]);
    for (const { firstRow, count, of } of strips)
      tape.dispatch('cumulative-sums.wgsl', {
        params: { ...params, SQUARES: sums !== null },
        args: { ...args, first_row: firstRow },
        bind: { x: of(x), sums: sums ?? of(x), y },
        groups: () => [count],
      });
    return y;
  };
  const sums = sumsOf(null);
  const squares = sumsOf(sums);
  const y = tape.tensor(x.shape);
  for (const { firstRow, count, of } of strips)
    tape.dispatch('cumulative-norm.wgsl', {
      params,
      args: { ...args, first_row: firstRow },
      bind: { x: of(x), sums, squares, weight, y: of(y) },
      groups: () => [count],
    });
  return y;
}

/** Rows of which a dispatch binds all places. */
interface RowStrip {
  firstRow: number;
  count: number;
  /** The strip of a tensor of x's shape. */
  of(tensor: Tensor): Operand;
}

/** Strips of x [1, rows, places, channels] that fit a binding, and begin where one may. */
function stripsOfRows({ device }: Tape, x: Tensor): RowStrip[] {
  const [, rows, places] = x.shape as [number, number, number];
  const { bindingLimit } = device.capabilities;
  const all = paddedRows(rows * places);
  if (4 * all * x.stride <= bindingLimit) return [{ firstRow: 0, count: rows, of: (tensor) => tensor }];
  const step = STEP / commonDivisor(STEP, places);
  const each = Math.floor(bindingLimit / (4 * x.stride * places * step)) * step;
  if (each === 0)
    throw new Error(
      `cumulativeNorm: ${step} rows of ${4 * x.stride * places} bytes exceed one binding of ${bindingLimit}`,
    );
  return Array.from({ length: Math.ceil(rows / each) }, (_, i) => {
    const firstRow = i * each;
    const part = { firstRow: firstRow * places, rows: Math.min(each * places, all - firstRow * places) };
    return { firstRow, count: Math.min(each, rows - firstRow), of: (tensor) => ({ tensor, ...part }) };
  });
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
