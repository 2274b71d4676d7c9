// Means of groups of an item's rows.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { fits, mostPixels, view } from './pixels.ts';

/**
 * Means of columns of x over groups of `rows` rows of an item, the last of which may have fewer: x [items, …] → [items, groups, columns].
 * `most`: rows of an item that belong to groups; left out: all. Rows of a group must fit one binding.
 */
export function groupMeans(
  of: Columns,
  { columns, rows, most }: { columns: number; rows: number; most?: number },
): Tensor {
  const tape = tapeOf(of.x);
  const { x, stride, first } = quadsOf(of);
  const items = x.shape[0] as number;
  const ofItem = x.rows(tape.capacity) / items;
  const averaged = Math.min(ofItem, most ?? ofItem);
  const groups = Math.ceil(averaged / rows);
  const y = tape.tensor([items, groups, columns]);
  const isWhole = fits(tape, x);
  const strip = isWhole ? averaged : Math.floor(mostPixels(tape, x) / rows) * rows;
  if (strip === 0) throw new Error(`groupMeans: ${rows} rows of [${x.shape.join(', ')}] exceed one binding`);
  for (let item = 0; item < items; item += isWhole ? items : 1) {
    for (let row = 0; row < averaged; row += strip) {
      const count = Math.min(strip, averaged - row);
      const pixels = {
        first: item * ofItem + row,
        last: isWhole ? items * ofItem : item * ofItem + row + count,
      };
      const { operand, first: begins } = view(tape, x, pixels);
      tape.dispatch('group-means.wgsl', {
        args: {
          group_rows: rows,
          item_rows: ofItem,
          averaged: count,
          x_row: pixels.first - begins,
          x_quads: stride,
          x_first: first,
          groups,
          y_row: item * groups + row / rows,
          y_quads: y.stride / 4,
          columns: columns / 4,
        },
        bind: { x: operand, y },
        groups: () => [y.stride / 4, Math.ceil(count / rows), isWhole ? items : 1],
      });
    }
  }
  return y;
}
