// How a model page names its weights: once, by the checkpoint's own names, with their shapes. Asking reserves the bytes;
// the engine fills them afterwards, and refuses a checkpoint with names nobody asked for.

import type { Tensor } from '../gpu/tensor.ts';
import type { Matrix } from '../kernels/matrix.ts';

export interface Rows {
  name: string;
  rows: number;
}

export interface WeightTable {
  /** [size], as f32 */
  vector(name: string, size: number): Tensor;
  /** [rows, k] */
  matrix(name: string, rows: number, k: number, bias?: string): Matrix;
  /** Several [rows, k] one after the other, each with a bias where `bias` is set (x.weight → x.bias). */
  stacked(parts: readonly Rows[], k: number, bias?: boolean): Matrix;
  /** Two [rows, k] that SwiGLU takes together. */
  gateUp(gate: string, up: string, rows: number, k: number, bias?: boolean): Matrix;
  /** Names a checkpoint may hold though the model does not read them. */
  ignore(names: RegExp): void;
}
