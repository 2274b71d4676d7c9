// A dispatch in two forms: as a launcher records it and as a replay encodes it.

import type { Params } from './linker.ts';
import type { Operand } from './operand.ts';
import type { Sizes } from './tensor.ts';

export type Groups = readonly [x: number, y?: number, z?: number];

export interface Dispatch {
  /** Key of its tuning, where variants may be timed. */
  tuned?: string;
  params?: Params;
  /** Members of the shader's `Args`, all of them. */
  args?: Readonly<Record<string, number>>;
  /** Operands by the names of the shader's variables, all of them. */
  bind: Readonly<Record<string, Operand>>;
  /** Workgroups, from the sizes of the step. */
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
