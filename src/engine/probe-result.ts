// The result of probing an adapter, in a file of its own so that the published types import none of WebGPU's.

export interface ProbeResult {
  ok: boolean;
  /** The error or the wrong result; null: there is none. */
  problem: string | null;
  /** From opening the device to the result. */
  milliseconds: number;
}
