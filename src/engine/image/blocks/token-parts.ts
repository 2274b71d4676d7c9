// The part of a sequence's tokens that this device has, where several divide them as evenly as their number allows.

import { badRequest } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import type { TokenSplit } from '../../../gpu/tape-options.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { takeTokens } from '../../../kernels/copy-rows.ts';
import type { Exchange } from '../ranks/exchange.ts';

type Split = Exchange | undefined;

/** x [items, n, columns] → [items, own tokens, columns]. Throws bad_request for fewer tokens than devices. */
export function ownTokens(x: Tensor, split: Split): Tensor {
  if (!split) return x;
  const [first, count] = partOf(x.shape[1] as number, split.rank, split);
  return takeTokens(x, first, count);
}

/** Rows of `columns` values each, one for each token. Throws like ownTokens. */
export function ownRows(values: Float32Array, columns: number, split: Split): Float32Array {
  if (!split) return values;
  const [first, count] = partOf(values.length / columns, split.rank, split);
  return values.subarray(first * columns, (first + count) * columns);
}

/** How several sequences that attend to each other are divided; null: this device has all of them. `tokens`: those of each sequence. */
export function splitOf(tokens: readonly number[], split: Split): TokenSplit | null {
  if (!split) return null;
  const { rank, ranks, allGather } = split;
  const counts = Array.from({ length: ranks }, (_, of) =>
    tokens.reduce((sum, count) => sum + partOf(count, of, split)[1], 0),
  );
  return { rank, counts, allGather };
}

function partOf(tokens: number, rank: number, { ranks }: Exchange): [first: number, count: number] {
  if (tokens < ranks)
    throw badRequest(
      say`a text or an image of ${tokens} tokens is not divided among ${ranks} GPUs, as ${option('kvGatherDegree')} says: draw it on fewer`,
      'kvGatherDegree',
    );
  const [first, end] = [rank, rank + 1].map((at) => Math.floor((at * tokens) / ranks)) as [number, number];
  return [first, end - first];
}
