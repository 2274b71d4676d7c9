// Experts of MegaBlocks, whose matrices stand one beneath another in two tensors of a layer, [experts · ffn, hidden] each, as entries for each of
// them: `experts.mlp.w1` becomes `experts.0.w1.weight` and so on. `w2` is stored as [k, rows]. No bytes are read.

import { badCheckpoint } from '../error.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { turned } from '../tensors/turned.ts';

const STACKED = /^(.*)\.experts\.mlp\.(w1|w2)$/;

/** The tensors with those of experts taken apart; the router of a layer has a row for each. Throws bad_checkpoint for other numbers of rows. */
export function splitStacked(tensors: ReadonlyMap<string, TensorEntry>): Map<string, TensorEntry> {
  return new Map(
    [...tensors].flatMap(([name, entry]) => {
      const [, block] = STACKED.exec(name) ?? [];
      const count = tensors.get(`${block}.router.layer.weight`)?.shape[0] ?? 0;
      if (block === undefined || count === 0) return [[name, entry] as const];
      return split(entry, count).map((part) => [part.name, part] as const);
    }),
  );
}

/** Names for each of `count` experts, for the name of a stacked tensor; null: it is none. */
export function stackedNames(name: string, count: number): string[] | null {
  const [, block, matrix] = STACKED.exec(name) ?? [];
  if (block === undefined) return null;
  return Array.from({ length: count }, (_, i) => `${block}.experts.${i}.${matrix}.weight`);
}

function split(entry: TensorEntry, count: number): TensorEntry[] {
  const { name, shape, offset } = entry;
  const [rows = 0, columns = 0] = shape;
  if (shape.length !== 2 || rows % count !== 0)
    throw badCheckpoint(
      `tensor ${name} has the shape [${shape.join(', ')}], which is not that of ${count} experts one beneath another: take the checkpoint from where it was published`,
      name,
    );
  const bytes = entry.bytes / count;
  return stackedNames(name, count)!.map((own, i) => {
    const part = { ...entry, name: own, shape: [rows / count, columns], offset: offset + i * bytes, bytes };
    return own.endsWith('.w2.weight') ? turned(part) : part;
  });
}
