// A dispatch in two forms: as a launcher records it and as a replay encodes it.

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

/** A recorded dispatch, resolved for given sizes. */
export interface Encodable {
  name: string;
  tuned: string | undefined;
  pipeline: GPUComputePipeline;
  bindGroup: GPUBindGroup;
  groups: Groups;
}
