// Changes that adapters make to tensors of a checkpoint before they are packed.

import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { isWhole, type Delta, type Factor } from '../../files/lora/module.ts';

export interface WeightChange {
  /** Name of the adapter's module, for messages. */
  module: string;
  delta: Delta;
  /** DoRA: the lengths of changed rows, or inputs. */
  magnitude: TensorEntry | null;
  /** Row of the delta, and of its magnitudes, that belongs to the tensor's first row. */
  firstRow: number;
  /** On the delta, beside its own scale. */
  scale: number;
}

/** Changes by the name of the tensor; the sums of several are added. */
export type WeightChanges = ReadonlyMap<string, readonly WeightChange[]>;

/** Tensors of the adapter's file that a change reads. */
export function entriesOfChange({ delta, magnitude }: WeightChange): TensorEntry[] {
  return [...delta.factors.flatMap(entriesOfFactor), ...(magnitude ? [magnitude] : [])];
}

function entriesOfFactor(factor: Factor): TensorEntry[] {
  if (isWhole(factor)) return [factor.whole];
  return [factor.b, factor.a, ...(factor.mid ? [factor.mid] : [])];
}
