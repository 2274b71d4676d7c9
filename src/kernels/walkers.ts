// The number of workgroups of kernels that go through values: with a stride, or each value once.

import type { Tape } from '../gpu/tape.ts';

const WORKGROUP = 64;

/** Workgroups of 64 lanes for `count` values or quads, as far as a dispatch can have them: lanes walk with a stride. */
export function walkers(tape: Tape, count: number): [number] {
  return [Math.min(Math.ceil(count / WORKGROUP), tape.device.capabilities.maxWorkgroups)];
}

/** Workgroups of `each` values for all of `count`, in two dimensions if one is too small. */
export function spread(tape: Tape, count: number, each = WORKGROUP): [across: number, down: number] {
  const groups = Math.ceil(count / each);
  const across = Math.min(groups, tape.device.capabilities.maxWorkgroups);
  return [across, Math.ceil(groups / across)];
}
