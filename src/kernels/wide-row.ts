// Kernels whose workgroups have a row each: on GPUs with many lanes, elsewhere with one subgroup.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';

/** Quads of a row that 32 lanes hold with one load each. */
const NARROW = 32;
/** Quads that a lane of a wide kernel loads at once, and the least lanes of one. */
const HELD = 4;
const LEAST_LANES = 64;

/** The lanes of a kernel with a workgroup for each row of so many quads, where it is the same everywhere; empty: its own. */
export function rowLanes(tape: Tape, quads: number): Params {
  return rowKernel(tape, { narrow: '', wide: '' }, quads).params;
}

/** The kernel for rows of so many quads, and its lanes, which follow from that number alone. */
export function rowKernel(
  { plain, device }: Tape,
  { narrow, wide }: { narrow: string; wide: string },
  quads: number,
): { shader: string; params: Params } {
  const most = device.profile.rowLanes;
  if (plain || most === null || quads <= NARROW) return { shader: narrow, params: {} };
  let lanes = LEAST_LANES;
  while (lanes < most && HELD * lanes < quads) lanes *= 2;
  return { shader: wide, params: { LANES: lanes } };
}
