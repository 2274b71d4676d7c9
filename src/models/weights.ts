// How a model page names its weights: once, by the checkpoint's own names, with their shapes. Asking reserves the bytes;
// the engine fills them afterwards, and refuses a checkpoint with names nobody asked for.

import type { Tensor } from '../gpu/tensor.ts';
import type { Matrix } from '../kernels/matrix.ts';

export interface Rows {
  name: string;
  rows: number;
}

export interface ConvOptions {
  bias?: boolean;
  /** 1 unless told otherwise: only such weights may be held in a form that takes fewer products. */
  stride?: 1 | 2;
}

export interface WeightTable {
  /** Whether the checkpoint holds a tensor of this name; for what some checkpoints lack or name otherwise. */
  has(name: string): boolean;
  /** [size], as f32 */
  vector(name: string, size: number): Tensor;
  /** [rows, columns], as f32 */
  table(name: string, rows: number, columns: number): Tensor;
  /** [rows, k], or [rows, k, 1, 1] as 1×1 convolutions are stored. */
  matrix(name: string, rows: number, k: number, bias?: string): Matrix;
  /** [rows, k] as stored, even where matrices are quantised: what it decides must not hang on a rounding. */
  router(name: string, rows: number, k: number): Matrix;
  /** Each expert's [rows, k], of which a row meets those it is routed to. */
  experts(names: readonly string[], rows: number, k: number): Matrix;
  /** Each expert's two [rows, k] that SwiGLU takes together. */
  expertGateUps(pairs: readonly { gate: string; up: string }[], rows: number, k: number): Matrix;
  /** A convolution's [out, in, kernel, kernel], or [out, in] for kernel 1; with a bias unless told otherwise (x.weight → x.bias). */
  conv(name: string, out: number, channels: number, kernel: 1 | 3, options?: ConvOptions): Matrix;
  /** Several [rows, k] one after the other, each with a bias where `bias` is set (x.weight → x.bias). */
  stacked(parts: readonly Rows[], k: number, bias?: boolean): Matrix;
  /** Two [rows, k] that SwiGLU takes together. */
  gateUp(gate: string, up: string, rows: number, k: number, bias?: boolean): Matrix;
  /** One [2 · rows, k], values over gates, that GEGLU takes together. */
  geglu(name: string, rows: number, k: number, bias?: boolean): Matrix;
  /** Names a checkpoint may hold though the model does not read them. */
  ignore(names: RegExp): void;
}
