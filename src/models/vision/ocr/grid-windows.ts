// Square windows of a grid of patches, which attend by themselves: those at the end are filled up with rows of zeros.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import type { MediaInput } from '../../media.ts';

/** Where the rows of windows come from, and those of the grid from windows; shares are f32, sources u32. */
export interface WindowInputs {
  apart: { sources: Tensor; shares: Tensor };
  together: { sources: Tensor; shares: Tensor };
}

/** What `WindowInputs` has for a square of `across` × `across` patches, by names with `key` before them. */
export function windowInputs(key: string, across: number, window: number): Record<string, MediaInput> {
  const windows = Math.ceil(across / window);
  const rows = (windows * window) ** 2;
  const [apart, filled] = [new Uint32Array(rows), new Float32Array(rows)];
  const together = new Uint32Array(across ** 2);
  for (let i = 0; i < rows; i++) {
    const [of, at] = [Math.floor(i / window ** 2), i % window ** 2];
    const row = Math.floor(of / windows) * window + Math.floor(at / window);
    const column = (of % windows) * window + (at % window);
    if (row >= across || column >= across) continue;
    [apart[i], filled[i]] = [row * across + column, 1];
    together[row * across + column] = i;
  }
  const input = (data: MediaInput['data']): MediaInput => ({ shape: [data.length, 1], data });
  return {
    [`${key}ApartSources`]: input(apart),
    [`${key}ApartShares`]: input(filled),
    [`${key}TogetherSources`]: input(together),
    [`${key}TogetherShares`]: input(new Float32Array(across ** 2).fill(1)),
  };
}

/** The inputs of `windowInputs` on a tape. */
export const windowsOn = (inputs: Readonly<Record<string, Tensor>>, key: string): WindowInputs => ({
  apart: { sources: inputs[`${key}ApartSources`]!, shares: inputs[`${key}ApartShares`]! },
  together: { sources: inputs[`${key}TogetherSources`]!, shares: inputs[`${key}TogetherShares`]! },
});

/** x [tiles, patches, columns] → [tiles · windows, window², columns] */
export function apart(x: Tensor, { apart: { sources, shares } }: WindowInputs, window: number): Tensor {
  const rows = ofEach(x, (tile) => mixRows(tile, sources, shares));
  return joinRows(rows, [rows.length * (sources.rows({}) / window ** 2), window ** 2]);
}

/** x [tiles · windows, window², columns] → [tiles, patches, columns] */
export function together(x: Tensor, { together: { sources, shares } }: WindowInputs, tiles: number): Tensor {
  const all = takeRows(x, 0, [tiles, x.rows({}) / tiles]);
  return joinRows(
    ofEach(all, (tile) => mixRows(tile, sources, shares)),
    [tiles, sources.rows({})],
  );
}

function ofEach(x: Tensor, change: (tile: Tensor) => Tensor): Tensor[] {
  const [tiles, rows] = x.shape as [number, number];
  return Array.from({ length: tiles }, (_, tile) => change(takeRows(x, tile * rows, [rows])));
}
