// What computes the states that stand for texts. What it holds dies with the device; the requests do not.

import type { Device } from '../../gpu/device.ts';

export interface EmbeddingRunner {
  device: Device;
  parameters: number;
  /** Values of a vector. */
  dimensions: number;
  /** Tokens of one text at most. */
  contextLength: number;
  /** Which of the waiting texts of these lengths are computed next, the first among them. */
  pick(lengths: readonly number[]): number[];
  /** One vector a text, in order. Ends early with `cancelled` once `wanted` says no. */
  run(texts: readonly (readonly number[])[], wanted: () => boolean): Promise<Float32Array[]>;
}

/** Rows of [rows, columns] as they lie on the device, without their padding. */
export function vectorsOf(
  bytes: ArrayBuffer,
  { columns, stride }: { columns: number; stride: number },
  rows: number,
): Float32Array[] {
  const floats = new Float32Array(bytes);
  return Array.from({ length: rows }, (_, row) => floats.slice(row * stride, row * stride + columns));
}
