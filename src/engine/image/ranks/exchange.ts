// What the ranks of a model tell each other: bytes, by way of host memory.

import { HostGroup, type Exchange, type ExchangeSpent } from '../../async/exchange.ts';
import type { World } from './world.ts';

/** What one rank exchanges with those that compute other passes, or another part of the tokens. */
export interface RankExchanges {
  /** Number of the rank among all. */
  rank: number;
  /** With all ranks. */
  all: Exchange;
  /** With those that compute other passes of guidance; left out: it computes all. */
  passes?: Exchange;
  /** With those that have other tokens; left out: it has all. */
  tokens?: Exchange;
  /** With those of them that divide heads; left out: it has all. */
  heads?: Exchange;
  /** With those of them whose keys and values go around; left out: none do. */
  ring?: Exchange;
  /** With those that have other parts of the matrices; left out: it has them whole. */
  matrices?: Exchange;
}

type Degree = 'cfg' | 'sp' | 'ulysses' | 'ring' | 'tp';

/**
 * Ranks of one drawing, numbered by pass, then by part of the tokens, of which those that divide heads follow each other, then by part of the
 * matrices.
 */
export function exchangesOf({ cfg, sp, ulysses, ring, tp }: Pick<World, Degree>): {
  ranks: RankExchanges[];
  fail(error: unknown): void;
} {
  const groups = (count: number, ranks: number): HostGroup[] =>
    Array.from({ length: count }, () => new HostGroup(ranks));
  const count = cfg * sp * tp;
  const all = new HostGroup(count);
  const [passes, tokens, matrices] = [groups(sp * tp, cfg), groups(cfg * tp, sp), groups(cfg * sp, tp)];
  const [heads, rings] = [groups(count / ulysses, ulysses), groups(count / ring, ring)];
  const ranks = all.ranks.map((one, rank): RankExchanges => {
    const [pass, part, own] = [Math.floor(rank / (sp * tp)), Math.floor(rank / tp) % sp, rank % tp];
    // The number of a group of this pass and part of the matrices, of which there are `each`.
    const of = (group: number, each: number): number => (pass * tp + own) * each + group;
    return {
      rank,
      all: one,
      ...(cfg > 1 && { passes: passes[part * tp + own]!.ranks[pass]! }),
      ...(sp > 1 && { tokens: tokens[pass * tp + own]!.ranks[part]! }),
      ...(ulysses > 1 && {
        heads: heads[of(Math.floor(part / ulysses), sp / ulysses)]!.ranks[part % ulysses]!,
      }),
      ...(ring > 1 && { ring: rings[of(part % ulysses, ulysses)]!.ranks[Math.floor(part / ulysses)]! }),
      ...(tp > 1 && { matrices: matrices[pass * sp + part]!.ranks[own]! }),
    };
  });
  const every = [all, ...passes, ...tokens, ...heads, ...rings, ...matrices];
  return { ranks, fail: (error) => every.forEach((group) => group.fail(error as Error)) };
}

/** What a rank has received in all. */
export function spentBy({ passes, tokens, heads, ring, matrices }: RankExchanges): ExchangeSpent {
  const all = [passes, tokens, heads, ring, matrices].flatMap((one) => (one ? [one.spent] : []));
  const sum = (of: keyof ExchangeSpent): number => all.reduce((total, one) => total + one[of], 0);
  return { calls: sum('calls'), bytes: sum('bytes'), milliseconds: sum('milliseconds') };
}

/** Sums of numbers, f32, over all ranks that decide together whether a step reuses what others computed. `joinsPasses`: also over the passes of guidance. */
export type DecisionSums = (own: ArrayBuffer, joinsPasses: boolean) => Promise<ArrayBuffer>;

/** See DecisionSums. Ranks that have parts of the matrices measure the same, which counts as often on both sides of a share. */
export function decisionSums({ tokens, matrices, passes }: RankExchanges): DecisionSums {
  return async (own, joinsPasses) => {
    let sums = own;
    for (const group of [tokens, matrices, joinsPasses ? passes : undefined])
      if (group) sums = await group.allReduce(sums);
    return sums;
  };
}
