// The result of probing an adapter. It has a file of its own so that the published types do not import WebGPU's.

export interface ProbeResult {
  ok: boolean;
  /** The error or the wrong result; null: none. */
  problem: string | null;
  /** What the adapter does otherwise than usual, and kernels do without. */
  remarks: string[];
  /** Milliseconds from opening the device to the result. */
  milliseconds: number;
}
