// Exchange of bytes and numbers among several devices of one thread, through host memory.

import { withResolvers, type PromiseWithResolvers } from './resolvers.ts';

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
  /** Returns the sums of all ranks' numbers, f32, added in the order of ranks, so that all have the same bits. Throws like allGather. */
  allReduce(own: ArrayBuffer): Promise<ArrayBuffer>;
  /** Returns the least number of all ranks. */
  least(own: number): Promise<number>;
  /** Calls so far, bytes received, and the time from each call to its answer; a rank may compute during that time. */
  readonly spent: Readonly<ExchangeSpent>;
}

export interface ExchangeSpent {
  calls: number;
  bytes: number;
  milliseconds: number;
}

/** A round in which each rank gives a value. */
interface Round extends PromiseWithResolvers<unknown[]> {
  given: Map<number, unknown>;
}

/** Ranks that exchange in one thread. */
export class HostGroup {
  readonly ranks: readonly Exchange[];
  readonly #rounds = new Map<number, Round>();
  #failure: { error: Error } | null = null;

  constructor(count: number) {
    this.ranks = Array.from({ length: count }, (_, rank) => this.#end(rank, count));
  }

  /** Makes the ranks that wait, and those that would wait later, throw an error. */
  fail(error: Error): void {
    this.#failure ??= { error };
    for (const round of this.#rounds.values()) round.reject(error);
    this.#rounds.clear();
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
      allReduce: async (own) => sumOf((await take(own, (given) => given)) as ArrayBuffer[]),
      least: async (own) => Math.min(...(await meet(own))),
    };
  }

  async #meet(index: number, rank: number, ranks: number, own: unknown): Promise<unknown[]> {
    if (this.#failure) throw this.#failure.error;
    const round = this.#rounds.get(index) ?? { ...withResolvers<unknown[]>(), given: new Map() };
    this.#rounds.set(index, round);
    round.given.set(rank, own);
    if (round.given.size === ranks) {
      this.#rounds.delete(index);
      round.resolve(Array.from({ length: ranks }, (_, of) => round.given.get(of)));
    }
    return round.promise;
  }
}

/** Sums of numbers that stand at one place of all parts, f32. */
function sumOf(parts: readonly ArrayBuffer[]): ArrayBuffer {
  const sums = new Float32Array(parts[0]!.slice(0));
  for (const part of parts.slice(1)) {
    const values = new Float32Array(part);
    for (let i = 0; i < sums.length; i++) sums[i]! += values[i]!;
  }
  return sums.buffer;
}
