// A dispatch in two forms: as a launcher records it and as a replay encodes it.

import type { Pipeline } from './device.ts';
import type { Params } from './linker.ts';
import type { Operand } from './operand.ts';
import type { Sizes } from './tensor.ts';

export type Groups = readonly [x: number, y?: number, z?: number];

export interface Dispatch {
  /** Key under which its variants are tuned. */
  tuned?: string;
  params?: Params;
  /** Values for all members of the shader's `Args`. */
  args?: Readonly<Record<string, number>>;
  /** Operands for all variables that the shader binds, by name. */
  bind: Readonly<Record<string, Operand>>;
  /** Number of workgroups, computed from the sizes of the step. */
  groups: (sizes: Sizes) => Groups;
}

/** A dispatch on a tape. */
export interface Recorded extends Dispatch {
  pipeline: Pipeline;
  argsOffset: number;
  /** Its workgroups where it is not left out; left out: it never is. */
  unlimited?: Dispatch['groups'];
}

/** Limits a dispatch to the sizes of which `isWanted` is true. */
export function limitTo(recorded: Recorded, isWanted: (sizes: Sizes) => boolean): void {
  const { groups } = recorded;
  recorded.unlimited ??= groups;
  recorded.groups = (sizes) => (isWanted(sizes) ? groups(sizes) : [0]);
}

/** A recorded dispatch, resolved for given sizes. */
export interface Encodable {
  name: string;
  tuned: string | undefined;
  pipeline: GPUComputePipeline;
  bindGroup: GPUBindGroup;
  groups: Groups;
}
