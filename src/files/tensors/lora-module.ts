// One module of a LoRA, whatever file it stands in.

import type { TensorEntry } from './safetensors.ts';

export interface LoraModule {
  /** Module name as in the model's checkpoint, without `.weight`. */
  name: string;
  /** [rank, k] */
  a: TensorEntry;
  /** [rows, rank] */
  b: TensorEntry;
  rank: number;
  /** On B · A. */
  scale: number;
}
