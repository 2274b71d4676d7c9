// What a probe of an adapter finds. In a file of its own, so that the published types lead to none of WebGPU's.

export interface ProbeResult {
  ok: boolean;
  /** What went wrong, or null. */
  problem: string | null;
  /** From opening the device to the result. */
  milliseconds: number;
}
