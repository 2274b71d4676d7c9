// How the ranks of a drawing divide tokens: as evenly as their number allows.

import { badRequest } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import type { TokenRanks } from '../../../gpu/tape-options.ts';
import type { RankExchanges } from '../ranks/exchange.ts';

/** Returns the exchanges that a tape uses where ranks divide tokens; undefined where none do. */
export function tokenRanks({ tokens, heads, ring }: RankExchanges): TokenRanks | undefined {
  if (!tokens) return undefined;
  const { rank, ranks, allGather } = tokens;
  return {
    ...{ rank, allGather, heads: heads ?? null, ring: ring ?? null },
    countsOf: (count, unit) => partsOf(count / unit, ranks, unit).map((part) => part * unit),
  };
}

/** Throws bad_request for fewer parts than ranks. */
function partsOf(count: number, ranks: number, unit: number): number[] {
  if (count < ranks)
    throw badRequest(
      unit === 1
        ? say`a text or an image of ${count} tokens is not divided among ${ranks} GPUs, as ${option('spDegree')} says: draw it on fewer`
        : say`a clip of ${count} frames of latents that begins with an image is not divided among ${ranks} GPUs, as ${option('spDegree')} says: draw more frames, or on fewer`,
      'spDegree',
    );
  const before = (rank: number): number => Math.floor((rank * count) / ranks);
  return Array.from({ length: ranks }, (_, rank) => before(rank + 1) - before(rank));
}
