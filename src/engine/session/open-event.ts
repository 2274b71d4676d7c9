// What models of every kind say while they open, and how their weights may be packed.

export type Quantization = 'none' | 'int8' | 'int4' | 'auto';

export type OpenEvent =
  | { type: 'download'; file: string; bytes: number; totalBytes: number; resumedPercent?: number }
  | { type: 'load'; bytes: number; totalBytes: number }
  /** Kernels compiled, of those that a stage of it needs where it has stages. */
  | { type: 'warmup'; done: number; total: number; stage?: string }
  /** Something the user should know: a shortened context, a chosen quantization, a lost device. */
  | { type: 'note'; message: string };
