// The events of opening a model of any kind, and the choices of quantization.

import { type Note } from '../../files/message.ts';
import type { WEIGHT_CHOICES } from '../../options/model.ts';

export type Quantization = (typeof WEIGHT_CHOICES)[number] | 'auto';

/** Share of the budget that `auto` uses for weights; the rest is for pages and intermediates. */
export const SHARE_FOR_WEIGHTS = 0.8;

export type OpenEvent =
  | { type: 'download'; file: string; bytes: number; totalBytes: number; resumedPercent?: number }
  | { type: 'load'; bytes: number; totalBytes: number }
  /** Compiled kernels; `stage`: the stage of the model that needs them, if it has stages. */
  | { type: 'warmup'; done: number; total: number; stage?: string }
  /** Trials that time the variants of a stage's kernels, in warm-ups that tune; the search may end before all are done. */
  | { type: 'tune'; done: number; total: number; stage: string }
  /** Information for the user, such as a shortened context, a chosen quantization or a lost device. */
  | Note;
