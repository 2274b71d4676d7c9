// Learned positions of a square that are resized to another grid as an image is: by a filter that is wider where the grid is smaller.

import { mixtureOf } from '../../files/image/resample.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import type { MediaInput } from '../media.ts';

/** Rows and columns of patches. */
export interface PatchRows {
  rows: number;
  columns: number;
}

/** `down` mixes rows of the table, `across` then its columns; shares are f32, sources u32. */
export interface PlaceInputs {
  down: { sources: Tensor; shares: Tensor };
  across: { sources: Tensor; shares: Tensor };
}

/** Positions of a grid, [patches, hidden]; table [places², hidden] on the tape */
export function resizedPlaces(table: Tensor, { down, across }: PlaceInputs): Tensor {
  const tall = mixRows(table, down.sources, down.shares); // [rows · places, hidden]
  return mixRows(tall, across.sources, across.shares);
}

/** What `resizedPlaces` reads, by its names with `key` before them. */
export function placeInputs(
  key: string,
  places: number,
  { rows, columns }: PatchRows,
  filter: 'bilinear' | 'bicubic' = 'bilinear',
): Record<string, MediaInput> {
  const down = taps(mixtureOf(filter, places, rows));
  const across = taps(mixtureOf(filter, places, columns));
  const all = { rows: rows * places, columns: rows * columns };
  return {
    ...named(`${key}Down`, down.count, all.rows, (i, tap) => {
      const [row, column] = [Math.floor(i / places), i % places];
      return [down.source(row, tap) * places + column, down.share(row, tap)];
    }),
    ...named(`${key}Across`, across.count, all.columns, (i, tap) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      return [row * places + across.source(column, tap), across.share(column, tap)];
    }),
  };
}

/** The inputs of `placeInputs` on a tape. */
export const placesOn = (inputs: Readonly<Record<string, Tensor>>, key: string): PlaceInputs => ({
  down: { sources: inputs[`${key}DownSources`]!, shares: inputs[`${key}DownShares`]! },
  across: { sources: inputs[`${key}AcrossSources`]!, shares: inputs[`${key}AcrossShares`]! },
});

/** Mixtures that all have as many terms; the others have a share of nothing. */
function taps(mixtures: ReturnType<typeof mixtureOf>) {
  return {
    count: Math.max(...mixtures.map(({ weights }) => weights.length)),
    share: (i: number, tap: number): number => mixtures[i]!.weights[tap] ?? 0,
    source(i: number, tap: number): number {
      const { first, weights } = mixtures[i]!;
      return first + Math.min(tap, weights.length - 1);
    },
  };
}

function named(
  key: string,
  count: number,
  rows: number,
  term: (row: number, tap: number) => [source: number, share: number],
): Record<string, MediaInput> {
  const shape = [rows, count];
  const sources = new Uint32Array(rows * count);
  const shares = new Float32Array(rows * count);
  for (let i = 0; i < sources.length; i++) [sources[i], shares[i]] = term(Math.floor(i / count), i % count);
  return { [`${key}Sources`]: { shape, data: sources }, [`${key}Shares`]: { shape, data: shares } };
}
