// Kernels that write what belongs to a part of a matrix into its windows.

import type { Dispatch, Tape } from '../gpu/tape.ts';
import { reaches, type Matrix, type MatrixPart, type MatrixWindow } from './matrix.ts';

/** Rows that a workgroup writes. */
const ROWS = 64;

interface PartDispatch extends Omit<Dispatch, 'groups'> {
  shader: string;
  /** Rows, and workgroups for each ROWS of them. */
  rows: number;
  down: number;
}

/** Records a dispatch for each window that the part reaches, with the arguments that tell the place of the part in the window. */
export function writePart(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  dispatchOf: (window: MatrixWindow) => PartDispatch,
): void {
  const { unit, unitStride, firstColumn } = part.placement;
  const place = { part_rows: part.rows, unit, unit_stride: unitStride, first_column: firstColumn };
  for (const window of matrix.windows.filter((one) => reaches(part, one))) {
    const { shader, args, rows, down, ...dispatch } = dispatchOf(window);
    tape.dispatch(shader, {
      ...dispatch,
      args: { ...args, ...place, first_group: window.firstGroup, groups: window.groups },
      groups: () => [Math.ceil(rows / ROWS), down],
    });
  }
}
