// Learned positions of a square grid for patches of another grid, mixed from four of the table, corners on corners.

import type { VisionLayout } from './qwen-vision-layout.ts';

const TAPS = 4;

/** `side`: positions along a side of the table; `grid`: rows and columns of patches. → rows of the table and their shares for each patch, [patches, 4] */
export function bilinearPlaces(
  side: number,
  grid: { rows: number; columns: number },
  patches: VisionLayout['patches'],
) {
  const down = axis(side, grid.rows);
  const across = axis(side, grid.columns);
  const sources = new Uint32Array(TAPS * patches.length);
  const shares = new Float32Array(TAPS * patches.length);
  patches.forEach(([row, column], i) => {
    const [y, x] = [down(row), across(column)];
    for (let tap = 0; tap < TAPS; tap++) {
      const [v, u] = [tap >> 1, tap & 1];
      sources[TAPS * i + tap] = Math.min(y.first + v, side - 1) * side + Math.min(x.first + u, side - 1);
      shares[TAPS * i + tap] = (v === 1 ? y.rest : 1 - y.rest) * (u === 1 ? x.rest : 1 - x.rest);
    }
  });
  return { sources, shares };
}

/** The position before a patch, and how far the patch is beyond it. */
function axis(side: number, count: number): (at: number) => { first: number; rest: number } {
  return (at) => {
    const place = count === 1 ? 0 : Math.fround((at * (side - 1)) / (count - 1));
    const first = Math.floor(place);
    return { first, rest: place - first };
  };
}
