// What the ranks of a model tell each other: bytes, by way of host memory.

import type { World } from './world.ts';

/** One rank's end of the exchange; all ranks of a group make the same calls in the same order. */
export interface Exchange {
  /** Number of this rank, from 0. */
  readonly rank: number;
  readonly ranks: number;
  /** Returns the bytes of all ranks in their order. Throws the error with which a rank has left. */
  allGather(own: ArrayBuffer): Promise<readonly ArrayBuffer[]>;
  /** Returns the sums of all ranks' numbers, f32, added in the order of ranks, so that all have the same bits. Throws like allGather. */
  allReduce(own: ArrayBuffer): Promise<ArrayBuffer>;
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
  /** With those that have other parts of the matrices; left out: it has them whole. */
  matrices?: Exchange;
}

/** Ranks of one drawing, numbered by pass, then by part of the tokens, then by part of the matrices. */
export function exchangesOf({ cfg, sp, tp }: Pick<World, 'cfg' | 'sp' | 'tp'>): {
  ranks: RankExchanges[];
  fail(error: unknown): void;
} {
  const all = new HostGroup(cfg * sp * tp);
  const groups = (count: number, ranks: number): HostGroup[] =>
    Array.from({ length: count }, () => new HostGroup(ranks));
  const [passes, tokens, matrices] = [groups(sp * tp, cfg), groups(cfg * tp, sp), groups(cfg * sp, tp)];
  const ranks = all.ranks.map((one, rank): RankExchanges => {
    const [pass, part, own] = [Math.floor(rank / (sp * tp)), Math.floor(rank / tp) % sp, rank % tp];
    return {
      rank,
      all: one,
      ...(cfg > 1 && { passes: passes[part * tp + own]!.ranks[pass]! }),
      ...(sp > 1 && { tokens: tokens[pass * tp + own]!.ranks[part]! }),
      ...(tp > 1 && { matrices: matrices[pass * sp + part]!.ranks[own]! }),
    };
  });
  const every = [all, ...passes, ...tokens, ...matrices];
  return { ranks, fail: (error) => every.forEach((group) => group.fail(error)) };
}

/** What a rank has received in all. */
export function spentBy({ passes, tokens, matrices }: RankExchanges): ExchangeSpent {
  const all = [passes, tokens, matrices].flatMap((one) => (one ? [one.spent] : []));
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
    const allGather = async (own: ArrayBuffer): Promise<ArrayBuffer[]> => {
      const begun = performance.now();
      const all = await meet(own);
      spent.calls += 1;
      spent.milliseconds += performance.now() - begun;
      for (const [of, bytes] of all.entries()) if (of !== rank) spent.bytes += bytes.byteLength;
      return all;
    };
    return {
      rank,
      ranks,
      spent,
      allGather,
      allReduce: async (own) => sumOf(await allGather(own)),
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

/** Sums of numbers that stand at one place of all parts, f32. */
export function sumOf(parts: readonly ArrayBuffer[]): ArrayBuffer {
  const sums = new Float32Array(parts[0]!.slice(0));
  for (const part of parts.slice(1)) {
    const values = new Float32Array(part);
    for (let i = 0; i < sums.length; i++) sums[i]! += values[i]!;
  }
  return sums.buffer;
}

function newRound(): Round {
  let give!: Round['give'];
  const all = new Promise<unknown[]>((resolve) => (give = resolve));
  return { values: new Map(), all, give };
}
