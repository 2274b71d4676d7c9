// What the ranks of a model tell each other: bytes, by way of host memory.

import type { World } from './world.ts';

/** One rank's end of the exchange; all ranks of a group make the same calls in the same order. */
export interface Exchange {
  /** Number of this rank, from 0. */
  readonly rank: number;
  readonly ranks: number;
  /** Returns the bytes of all ranks in their order. Throws the error with which a rank has left. */
  allGather(own: ArrayBuffer): Promise<readonly ArrayBuffer[]>;
  /** Gives each rank bytes of its own, and returns what all give to this one, in their order. Throws like allGather. */
  allToAll(parts: readonly ArrayBuffer[]): Promise<readonly ArrayBuffer[]>;
  /** Gives bytes to the next rank, and returns those of the one before. Throws like allGather. */
  send(own: ArrayBuffer): Promise<ArrayBuffer>;
  /** Returns the least number of all ranks. */
  least(own: number): Promise<number>;
  /** What this rank has received so far, and the time between asking and receiving, in which it may compute. */
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
  /** With those of them that divide heads; left out: it has all. */
  heads?: Exchange;
  /** With those of them whose keys and values go around; left out: none do. */
  ring?: Exchange;
}

/** Ranks of one drawing, numbered by pass and then by part of the tokens; ranks that divide heads follow each other. */
export function exchangesOf({ cfg, sp, ulysses, ring }: Pick<World, 'cfg' | 'sp' | 'ulysses' | 'ring'>): {
  ranks: RankExchanges[];
  fail(error: unknown): void;
} {
  const groups = (count: number, ranks: number): HostGroup[] =>
    Array.from({ length: count }, () => new HostGroup(ranks));
  const all = new HostGroup(cfg * sp);
  const passes = groups(sp, cfg);
  const tokens = groups(cfg, sp);
  const heads = groups((cfg * sp) / ulysses, ulysses);
  const rings = groups((cfg * sp) / ring, ring);
  const ranks = all.ranks.map((one, rank): RankExchanges => {
    const [pass, part] = [Math.floor(rank / sp), rank % sp];
    return {
      rank,
      all: one,
      ...(cfg > 1 && { passes: passes[part]!.ranks[pass]! }),
      ...(sp > 1 && { tokens: tokens[pass]!.ranks[part]! }),
      ...(ulysses > 1 && { heads: heads[Math.floor(rank / ulysses)]!.ranks[rank % ulysses]! }),
      ...(ring > 1 && {
        ring: rings[pass * ulysses + (part % ulysses)]!.ranks[Math.floor(part / ulysses)]!,
      }),
    };
  });
  const every = [all, ...passes, ...tokens, ...heads, ...rings];
  return { ranks, fail: (error) => every.forEach((group) => group.fail(error)) };
}

/** What a rank has received in all. */
export function spentBy({ passes, tokens, heads, ring }: RankExchanges): ExchangeSpent {
  const all = [passes, tokens, heads, ring].flatMap((one) => (one ? [one.spent] : []));
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
    /** Meets, and returns what this rank takes of what the others give. */
    const take = async <T>(own: T, of: (given: T, from: number) => ArrayBuffer | null) => {
      const begun = performance.now();
      const all = (await meet(own)).map(of);
      spent.calls += 1;
      spent.milliseconds += performance.now() - begun;
      for (const [from, bytes] of all.entries()) if (from !== rank) spent.bytes += bytes?.byteLength ?? 0;
      return all;
    };
    const before = (rank + ranks - 1) % ranks;
    return {
      rank,
      ranks,
      spent,
      allGather: async (own) => (await take(own, (given) => given)) as ArrayBuffer[],
      allToAll: async (parts) => (await take(parts, (given) => given[rank]!)) as ArrayBuffer[],
      send: async (own) => (await take(own, (given, from) => (from === before ? given : null)))[before]!,
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
