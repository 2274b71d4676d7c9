// The events of opening a model, the same for all kinds, and how its weights may be packed.

import { type Note } from '../../files/message.ts';

export type Quantization = 'none' | 'int8' | 'int4' | 'auto';

export type OpenEvent =
  | { type: 'download'; file: string; bytes: number; totalBytes: number; resumedPercent?: number }
  | { type: 'load'; bytes: number; totalBytes: number }
  /** Kernels that are compiled; `stage`: the stage of the model that needs them, where it has stages. */
  | { type: 'warmup'; done: number; total: number; stage?: string }
  /** Something the user should know: a shortened context, a chosen quantization, a lost device. */
  | Note;
