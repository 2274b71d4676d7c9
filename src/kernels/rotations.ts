// cos and sin for the rows of a step, once for all layers that share a rope table.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

const WORKGROUP = 32;

/** A table of rotary frequencies; a model may have several. */
export interface RopeTable {
  /** Number of rotated dimensions; even. */
  dims: number;
  /** Factor on cos and sin. */
  attentionFactor: number;
  /** Numbers of frequencies that use a row's time, height and width; they add up to dims / 2. null: all use its position. */
  sections: readonly [time: number, height: number, width: number] | null;
  /** Whether time, height and width take turns, while sections of height and width last; left out: they follow each other. */
  interleaved?: boolean;
}

/** cos and sin of position · frequency alternating, for table `index` of `tables`, times its attention factor; → [rows, dims] */
export function rotations(tape: Tape, batch: TextBatch, tables: readonly RopeTable[], index: number): Tensor {
  const { dims, attentionFactor, sections, interleaved = false } = tables[index]!;
  const half = dims / 2;
  const [time, height, width] = sections ?? [half, 0, 0];
  if (time + height + width !== half)
    throw new Error(
      `rotations: sections of ${time}, ${height} and ${width} for ${half} frequencies, to which they must add up`,
    );
  if (sections && !batch.planes) throw new Error('rotations: sections need heights and widths of the rows');
  const widths = tables.map((table) => table.dims / 2);
  const y = tape.tensor(['rows', dims]);
  tape.dispatch('rotations.wgsl', {
    params: { PLANES: sections ? (interleaved ? 'turns' : 'three') : 'one' },
    args: {
      half,
      y_pairs: y.stride / 2,
      scale: attentionFactor,
      first: sum(widths.slice(0, index)),
      all: sum(widths),
      height: interleaved ? 3 * height : time,
      width: interleaved ? 3 * width : time + height,
    },
    bind: { rows: batch.rows, turns: batch.turns, y, ...(sections ? { planes: batch.planes! } : {}) },
    groups: (sizes) => [Math.ceil(y.stride / 2 / WORKGROUP), y.rows(sizes)],
  });
  return y;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
