// Changes that LoRAs make to tensors of a checkpoint before they are packed.

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { isWhole, type Delta, type Factor } from '../../files/lora/module.ts';

export interface WeightChange {
  /** Name of the LoRA's module, for messages. */
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

/** Tensors of the LoRA's file that a change reads. */
export function entriesOfChange({
  delta,
  magnitude,
}: Pick<WeightChange, 'delta' | 'magnitude'>): TensorEntry[] {
  return [...delta.factors.flatMap(entriesOfFactor), ...(magnitude ? [magnitude] : [])];
}

function entriesOfFactor(factor: Factor): TensorEntry[] {
  if (isWhole(factor)) return [factor.whole];
  return [factor.b, factor.a, ...(factor.mid ? [factor.mid] : [])];
}

/** Names of the tensors whose changes differ. */
export function differingNames(before: WeightChanges, after: WeightChanges): Set<string> {
  const names = new Set([...before.keys(), ...after.keys()]);
  const isEqual = (name: string): boolean => {
    const [old = [], own = []] = [before.get(name), after.get(name)];
    return old.length === own.length && old.every((change, i) => isSame(change, own[i]!));
  };
  return new Set([...names].filter((name) => !isEqual(name)));
}

function isSame(a: WeightChange, b: WeightChange): boolean {
  return (
    a.delta === b.delta && a.magnitude === b.magnitude && a.scale === b.scale && a.firstRow === b.firstRow
  );
}
