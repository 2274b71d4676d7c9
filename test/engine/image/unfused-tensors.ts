// Tensors of files under the names that pages ask for.

import type { Rename } from '../../../src/files/pipeline/file-layout.ts';
import { named } from './coded-tensors.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

/** Tensors with the names of one layout under those that pages ask for, and the rows that fused ones are made of. */
export function unfused(rename: Rename, fused: readonly StoredTensor[]): StoredTensors {
  return named(
    fused.flatMap((tensor): StoredTensor[] => {
      const parts = rename(tensor.name, tensor.shape);
      if (typeof parts === 'string') return [{ ...tensor, name: parts }];
      const row = tensor.bytes.length / tensor.shape[0]!;
      return parts.map(({ name, rows }) => ({
        ...tensor,
        name,
        shape: [rows!.count, ...tensor.shape.slice(1)],
        bytes: tensor.bytes.slice(rows!.first * row, (rows!.first + rows!.count) * row),
      }));
    }),
  );
}
