// Sums of the values of several devices of one thread, added in host memory.

import type { RankSums } from '../../../kernels/batch.ts';
import { withResolvers, type PromiseWithResolvers } from '../../async/resolvers.ts';

/** A round in which each rank gives its values. */
interface Round {
  given: Map<number, Float32Array>;
  sum: PromiseWithResolvers<ArrayBuffer>;
}

export class HostSums {
  /** One end for each rank; all ranks make the same calls in the same order. */
  readonly ranks: readonly RankSums[];
  readonly #rounds = new Map<number, Round>();
  readonly #failure = withResolvers<never>();

  constructor(count: number) {
    this.#failure.promise.catch(() => {}); // each rank that waits throws it
    this.ranks = Array.from({ length: count }, (_, rank) => {
      let round = 0;
      return { rank, sum: (own: ArrayBuffer) => this.#give(round++, rank, new Float32Array(own)) };
    });
  }

  /** Makes the ranks that wait, and those that would wait later, throw an error. */
  readonly fail = (error: Error): void => this.#failure.reject(error);

  #give(index: number, rank: number, own: Float32Array): Promise<ArrayBuffer> {
    const round = this.#rounds.get(index) ?? { given: new Map(), sum: withResolvers<ArrayBuffer>() };
    this.#rounds.set(index, round);
    round.given.set(rank, own);
    if (round.given.size === this.ranks.length) {
      this.#rounds.delete(index);
      round.sum.resolve(this.#add(round.given));
    }
    return Promise.race([this.#failure.promise, round.sum.promise]);
  }

  #add(given: ReadonlyMap<number, Float32Array>): ArrayBuffer {
    const sum = new Float32Array(given.get(0)!);
    for (let rank = 1; rank < this.ranks.length; rank++) {
      const values = given.get(rank)!;
      for (let i = 0; i < sum.length; i++) sum[i]! += values[i]!;
    }
    return sum.buffer;
  }
}
