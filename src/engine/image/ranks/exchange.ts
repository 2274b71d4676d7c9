// What the ranks of a model tell each other: bytes, by way of host memory.

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
