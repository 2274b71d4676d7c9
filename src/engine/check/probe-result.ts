// The result of probing an adapter. It has a file of its own so that the published types do not import WebGPU's.

export interface ProbeResult {
  ok: boolean;
  /** The error or the wrong result; null: none. */
  problem: string | null;
  /** Sentences about features that the adapter gets wrong, so that kernels do without them. */
  remarks: string[];
  /** Milliseconds from opening the device to the result. */
  milliseconds: number;
}
