// Queries and keys of dense attention in 8 bits, as lib/attend-dots.codes.wgsl reads them: each head of a row by the largest of its values.
// From keys the mean of an item's keys is subtracted before, which adds the same to all scores of a query, so that weights stay what they are
// (SageAttention, arXiv 2410.02367): what keys have in common would take the place of what tells them apart.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { groupMeans } from './group-means.ts';
import { cutPixels, fits, mostPixels, view } from './pixels.ts';

const WORKGROUP = 64;
/** Codes of a quad of words. */
const CODES = 16;

interface Heads {
  heads: number;
  /** Dimensions of a head; a multiple of 4. */
  dims: number;
}

/** heads · dims columns of x [items, rows, …] → u32 [items, rows, heads · (codes of a head, its scale)]. `centres`: f32 [items, 1, heads · dims], subtracted. */
export function roundHeads(of: Columns, { heads, dims }: Heads, centres: Tensor | null = null): Columns {
  const tape = tapeOf(of.x);
  const { x, stride, first } = quadsOf(of);
  const quads = Math.ceil(dims / CODES) + 1;
  const y = tape.tensor([...x.shape.slice(0, -1), heads * quads * 4], 'u32');
  const rows = y.rows(tape.capacity);
  const items = x.shape[0] as number;
  const most = tape.device.capabilities.maxWorkgroups;
  for (const part of cutPixels(tape, { first: 0, last: rows }, [x, y], most)) {
    const [from, to] = [view(tape, x, part), view(tape, y, part)];
    tape.dispatch('attend-codes.wgsl', {
      params: { CENTRE: centres ? 'item' : 'none' },
      args: {
        heads,
        head_quads: dims / 4,
        x_quads: stride,
        x_first: first,
        y_quads: y.stride / 4,
        x_row: part.first - from.first,
        y_row: part.first - to.first,
        first_row: part.first,
        item_rows: rows / items,
        centre_quads: centres ? centres.stride / 4 : 0,
      },
      bind: { x: from.operand, y: to.operand, ...(centres && { centres }) },
      groups: () => [Math.ceil((heads + 1) / WORKGROUP), part.last - part.first],
    });
  }
  return { x: y, first: 0 };
}

/** Keys in 8 bits, without what the keys of an item have in common: the mean of those that one binding holds. */
export function roundKeys(k: Columns, of: Heads): Columns {
  const tape = tapeOf(k.x);
  const ofItem = k.x.rows(tape.capacity) / (k.x.shape[0] as number);
  const rows = fits(tape, k.x) ? ofItem : Math.min(ofItem, mostPixels(tape, k.x));
  return roundHeads(k, of, groupMeans(k, { columns: of.heads * of.dims, rows, most: rows }));
}
