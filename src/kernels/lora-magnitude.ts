// The change that DoRA makes to weights: changed weights get the lengths that the LoRA states.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { FloatRows } from './lora-product.ts';
import { spread } from './walkers.ts';

export interface Magnitudes {
  /** f32 */
  region: Region;
  /** The magnitude of y's first row. */
  first: number;
  /** null: one magnitude for each row. Otherwise one for each input, with the taps of the convolution. */
  byInput: { taps: number } | null;
}

/** y += magnitude · changed / length − original; `squares`: of the lengths, from loraSquares */
export function loraMagnitude(
  tape: Tape,
  y: FloatRows,
  { changed, original, squares }: { changed: Region; original: Region; squares: Region },
  { region, first, byInput }: Magnitudes,
): void {
  const { rows, columns } = y;
  const groups = spread(tape, rows * columns);
  tape.dispatch('lora-magnitude.wgsl', {
    params: { BY_INPUT: byInput !== null },
    args: { rows, columns, taps: byInput?.taps ?? 1, first_magnitude: first, across: 64 * groups[0] },
    bind: { changed, original, squares, magnitudes: region, y: y.region },
    groups: () => groups,
  });
}
