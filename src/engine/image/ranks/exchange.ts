// What the ranks of a model tell each other: bytes, by way of host memory.

import type { World } from './world.ts';

/** One rank's end of the exchange; all ranks of a group make the same calls in the same order. */
export interface Exchange {
  /** Number of this rank, from 0. */
  readonly rank: number;
  readonly ranks: number;
  /** Returns the bytes of all ranks in their order. Throws the error with which a rank has left. */
  allGather(own: ArrayBuffer): Promise<readonly ArrayBuffer[]>;
  /** Returns the least number of all ranks. */
  least(own: number): Promise<number>;
  /** What this rank has received so far, and the time it has waited for that. */
  readonly spent: Readonly<ExchangeSpent>;
}

export interface ExchangeSpent {
  calls: number;
  bytes: number;
  milliseconds: number;
}

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
}

/** Ranks of one drawing, numbered by pass and then by part of the tokens. */
export function exchangesOf({ cfg, sp }: Pick<World, 'cfg' | 'sp'>): {
  ranks: RankExchanges[];
  fail(error: unknown): void;
} {
  const all = new HostGroup(cfg * sp);
  const passes = Array.from({ length: sp }, () => new HostGroup(cfg));
  const tokens = Array.from({ length: cfg }, () => new HostGroup(sp));
  const ranks = all.ranks.map((one, rank): RankExchanges => {
    const [pass, part] = [Math.floor(rank / sp), rank % sp];
    return {
      rank,
      all: one,
      ...(cfg > 1 && { passes: passes[part]!.ranks[pass]! }),
      ...(sp > 1 && { tokens: tokens[pass]!.ranks[part]! }),
    };
  });
  return { ranks, fail: (error) => [all, ...passes, ...tokens].forEach((group) => group.fail(error)) };
}

/** What a rank has received in all. */
export function spentBy({ passes, tokens }: RankExchanges): ExchangeSpent {
  const all = [passes, tokens].flatMap((one) => (one ? [one.spent] : []));
  const sum = (of: keyof ExchangeSpent): number => all.reduce((total, one) => total + one[of], 0);
  return { calls: sum('calls'), bytes: sum('bytes'), milliseconds: sum('milliseconds') };
}

/** A round in which each rank gives a value. */
interface Round {
  values: Map<number, unknown>;
  all: Promise<unknown[]>;
  give(values: unknown[]): void;
}

/** Ranks of one drawing in one thread. */
export class HostGroup {
  readonly ranks: readonly Exchange[];
  readonly #rounds = new Map<number, Round>();
  #fail!: (error: unknown) => void;
  readonly #failure: Promise<never>;

  constructor(count: number) {
    this.#failure = new Promise((_, reject) => (this.#fail = reject));
    this.#failure.catch(() => {}); // each rank that waits throws it
    this.ranks = Array.from({ length: count }, (_, rank) => this.#end(rank, count));
  }

  /** Makes the ranks that wait, and those that would wait later, throw an error. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  #end(rank: number, ranks: number): Exchange {
    const spent = { calls: 0, bytes: 0, milliseconds: 0 };
    let round = 0;
    const meet = <T>(own: T): Promise<T[]> => this.#meet(round++, rank, ranks, own) as Promise<T[]>;
    return {
      rank,
      ranks,
      spent,
      async allGather(own) {
        const begun = performance.now();
        const all = await meet(own);
        spent.calls += 1;
        spent.milliseconds += performance.now() - begun;
        for (const [of, bytes] of all.entries()) if (of !== rank) spent.bytes += bytes.byteLength;
        return all;
      },
      least: async (own) => Math.min(...(await meet(own))),
    };
  }

  #meet(index: number, rank: number, ranks: number, own: unknown): Promise<unknown[]> {
    const round = this.#rounds.get(index) ?? newRound();
    this.#rounds.set(index, round);
    round.values.set(rank, own);
    if (round.values.size === ranks) {
      this.#rounds.delete(index);
      round.give(Array.from({ length: ranks }, (_, of) => round.values.get(of)));
    }
    return Promise.race([this.#failure, round.all]);
  }
}

function newRound(): Round {
  let give!: Round['give'];
  const all = new Promise<unknown[]>((resolve) => (give = resolve));
  return { values: new Map(), all, give };
}
