// The patches of an image, and the limit on them in models that have positions for some number of rows and columns.

import { badRequest } from '../../files/error.ts';

/** Rows and columns of an image, in patches. */
export interface PatchGrid {
  rows: number;
  columns: number;
}

/** Throws bad_request for an image of more patches along a side than the model has positions for. */
export function checkPatches(grid: PatchGrid, most: PatchGrid): void {
  for (const [param, side] of [
    ['height', 'rows'],
    ['width', 'columns'],
  ] as const) {
    if (grid[side] <= most[side]) continue;
    const message = `a ${param} of ${grid[side]} patches exceeds the model's ${most[side]}: choose a smaller image`;
    throw badRequest(message, param);
  }
}
