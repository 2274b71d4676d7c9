// Applies rotary positions to the heads of a linear layer's output, or an RMSNorm alone, in place.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { HeadsOf } from './attend.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 32;

export interface Rotation {
  heads: number;
  dims: number;
  /** Which dimensions form a pair: adjacent ones, or the same one of both halves. */
  layout: 'interleaved' | 'halves';
  /** RMSNorm of each head before the rotation; weight [dims], or null: 1. */
  norm?: { weight: Tensor | null; eps: number } | undefined;
}

/**
 * x [items, tokens, …], table [tokens, n · dims] with angles for n heads, which all heads take in turns: cos and sin of each pair alternating,
 * or null; the heads are changed in place
 */
export function rotate({ x, first }: HeadsOf, table: Tensor | null, rotation: Rotation): void {
  const { heads, dims, layout, norm } = rotation;
  const tape = tapeOf(x);
  if (!table && !norm) return;
  const tokens = table?.rows({}) ?? 1;
  const tableHeads = table ? table.columns / dims : 1;
  if (heads % tableHeads !== 0 || x.rows({}) % tokens !== 0)
    throw new Error(
      `rotate: a table of [${table?.shape.join()}] for [${x.shape.join()}] in heads of ${dims}`,
    );
  // A table with a row for each of x is divided like x; one for several items is bound whole.
  const isAlike = table !== null && x.rows({}) === tokens;
  for (const strip of stripsOf(tape, isAlike ? [x, table] : [x])) {
    tape.dispatch('rotate.wgsl', {
      params: {
        GAIN: norm ? (norm.weight ? 'weight' : 'one') : 'none',
        TURN: table ? 'table' : 'none',
        INTERLEAVED: layout === 'interleaved',
      },
      args: {
        heads,
        dims,
        tokens,
        first_row: isAlike ? 0 : strip.firstRow,
        x_stride: x.stride,
        x_first: first,
        table_stride: table?.stride ?? 0,
        table_head: dims / 2,
        table_heads: tableHeads,
        eps: norm?.eps ?? 0,
      },
      bind: {
        x: strip.of(x),
        ...(table ? { table: isAlike ? strip.of(table) : table } : {}),
        ...(norm?.weight ? { weight: norm.weight } : {}),
      },
      groups: (sizes) => [Math.ceil(heads / WORKGROUP), strip.count(sizes)],
    });
  }
}
