// The number of workgroups of kernels whose lanes go through values with a stride.

import type { Tape } from '../gpu/tape.ts';

const WORKGROUP = 64;

/** Workgroups of 64 lanes for `count` values or quads, as far as a dispatch can have them. */
export function walkers(tape: Tape, count: number): [number] {
  return [Math.min(Math.ceil(count / WORKGROUP), tape.device.capabilities.maxWorkgroups)];
}
