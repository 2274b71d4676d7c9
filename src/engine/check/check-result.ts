// The result of checking a kernel family. It has a file of its own so that the published types do not import WebGPU's.

export interface KernelCheck {
  /** The computation that was checked, as `product in int4`. */
  name: string;
  /** Names of the shaders that were checked. */
  kernels: readonly string[];
  ok: boolean;
  /** The error or the wrong result; null: none. */
  problem: string | null;
  milliseconds: number;
}
