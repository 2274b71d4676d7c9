// The events of opening a model, the same for all kinds, and how its weights may be packed.

import { type Note } from '../../files/message.ts';
import type { WEIGHT_CHOICES } from '../../options/model.ts';

export type Quantization = (typeof WEIGHT_CHOICES)[number] | 'auto';

export type OpenEvent =
  | { type: 'download'; file: string; bytes: number; totalBytes: number; resumedPercent?: number }
  | { type: 'load'; bytes: number; totalBytes: number }
  /** Kernels that are compiled; `stage`: the stage of the model that needs them, where it has stages. */
  | { type: 'warmup'; done: number; total: number; stage?: string }
  /** Something the user should know: a shortened context, a chosen quantization, a lost device. */
  | Note;
