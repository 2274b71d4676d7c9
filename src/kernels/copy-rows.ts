// Copies rows to other places, to extend, join or divide sequences. Rows are fixed numbers.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, view } from './pixels.ts';
import { walkers } from './walkers.ts';

/** A copy of the values in a new tensor. */
export function copy(x: Tensor): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  copyInto(x, y);
  return y;
}

/** Copies the values into a tensor of the same columns, which may have bytes of its own: to as many rows of it, from `first` on. */
export function copyInto(x: Tensor, y: Tensor, first = 0): void {
  copyRows(x, 0, 1, y, first, x.rows({}));
}

/** Concatenates each item of a with that of b; a [items, n, columns], b [items, m, columns] → [items, n + m, columns] */
export function joinTokens(a: Tensor, b: Tensor): Tensor {
  const y = placeForTokens(a, b);
  joinTokensInto(a, b, y);
  return y;
}

/** An empty tensor for the tokens of both; a [items, n, columns], b [items, m, columns] → [items, n + m, columns] */
export function placeForTokens(a: Tensor, b: Tensor): Tensor {
  const [items, n] = sequenceShape(a);
  const [otherItems, m] = sequenceShape(b);
  if (items !== otherItems || a.columns !== b.columns)
    throw new Error(
      `joinTokens: [${a.shape.join(', ')}] and [${b.shape.join(', ')}] must have equal items and columns`,
    );
  return tapeOf(a).tensor([items, n + m, a.columns]);
}

/** Like joinTokens, into a tensor of that shape. */
export function joinTokensInto(a: Tensor, b: Tensor, y: Tensor): void {
  const [items, n] = sequenceShape(a);
  const [, m] = sequenceShape(b);
  for (let item = 0; item < items; item++) {
    copyRows(a, item * n, 1, y, item * (n + m), n);
    copyRows(b, item * m, 1, y, item * (n + m) + n, m);
  }
}

/** A run of tokens of each item; x [items, n, columns] → [items, count, columns] */
export function takeTokens(x: Tensor, first: number, count: number): Tensor {
  const [items, n] = sequenceShape(x);
  if (first < 0 || first + count > n)
    throw new Error(`takeTokens: ${count} from ${first} on, of [${x.shape.join(', ')}]`);
  const y = tapeOf(x).tensor([items, count, x.columns]);
  for (let item = 0; item < items; item++) copyRows(x, item * n + first, 1, y, item * count, count);
  return y;
}

/** Rows from `first` on as items of their own; x [rows, columns] → [...shape, columns] */
export function takeRows(x: Tensor, first: number, shape: readonly number[]): Tensor {
  const y = tapeOf(x).tensor([...shape, x.columns]);
  copyRows(x, first, 1, y, 0, y.rows({}));
  return y;
}

/** Rows of all parts, one part after the other, in one shape; parts [rows, columns] → [...shape, columns] */
export function joinRows(parts: readonly Tensor[], shape: readonly number[]): Tensor {
  const y = tapeOf(parts[0]!).tensor([...shape, parts[0]!.columns]);
  const rows = parts.map((part) => part.rows({}));
  if (rows.reduce((sum, count) => sum + count, 0) !== y.rows({}))
    throw new Error(`joinRows: parts of ${rows.join(' + ')} rows for [${y.shape.join(', ')}]`);
  let first = 0;
  parts.forEach((part, i) => {
    copyRows(part, 0, 1, y, first, rows[i]!);
    first += rows[i]!;
  });
  return y;
}

/** Pads each item to `tokens` tokens with the row `fill` [1, columns]; x [items, n, columns] → [items, tokens, columns] */
export function fillTokens(x: Tensor, fill: Tensor, tokens: number): Tensor {
  const [items, n] = sequenceShape(x);
  if (n === tokens) return x;
  const y = tapeOf(x).tensor([items, tokens, x.columns]);
  for (let item = 0; item < items; item++) {
    copyRows(x, item * n, 1, y, item * tokens, n);
    copyRows(fill, 0, 0, y, item * tokens + n, tokens - n);
  }
  return y;
}

/** One row, `count` times; x [1, columns] → [count, columns] */
export function repeatRow(x: Tensor, count: number): Tensor {
  const y = tapeOf(x).tensor([count, x.columns]);
  copyRows(x, 0, 0, y, 0, count);
  return y;
}

function sequenceShape(x: Tensor): [items: number, tokens: number] {
  const [items, tokens] = x.shape;
  if (x.shape.length !== 3 || typeof items !== 'number' || typeof tokens !== 'number')
    throw new Error(
      `[${x.shape.join(', ')}] is not a shape of sequences: items, tokens, columns, all numbers`,
    );
  return [items, tokens];
}

function copyRows(x: Tensor, xFirst: number, xStep: 0 | 1, y: Tensor, yFirst: number, rows: number): void {
  const tape = tapeOf(y);
  const quads = y.stride / 4;
  for (const { first, last } of cutPixels(tape, { first: 0, last: rows }, [x, y])) {
    const from = { first: xFirst + first * xStep, last: xFirst + (last - 1) * xStep + 1 };
    const to = { first: yFirst + first, last: yFirst + last };
    const [xView, yView] = [view(tape, x, from), view(tape, y, to)];
    tape.dispatch('copy-rows.wgsl', {
      args: {
        quads,
        rows: last - first,
        x_first: from.first - xView.first,
        x_step: xStep,
        y_first: to.first - yView.first,
      },
      bind: { x: xView.operand, y: yView.operand },
      groups: () => walkers(tape, (last - first) * quads),
    });
  }
}
