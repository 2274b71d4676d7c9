// The steps of one pass from the first of a result on: which of them reuse, and by which factors what was kept is added.

import type { ReuseRule } from './decisions.ts';

/** Index of the rate of divided differences among the scalars of a pass; the factors of what is kept follow. */
export const RATE = 0;
export const FACTORS = 1;

export const scalarCount = ({ order }: Pick<ReuseRule, 'order'>): number => FACTORS + 1 + order;

export class ReuseRun {
  readonly #order: number;
  readonly #decide: (state: {
    step: number;
    inRow: number;
    reused: number;
    change: number | null;
  }) => boolean;
  /** Steps that were computed, the latest last, as many as differences need. */
  #computedAt: number[] = [];
  #step = -1;
  #inRow = 0;
  #reused = 0;

  /** `steps`: those of a whole run. */
  constructor({ decision, order }: ReuseRule, steps: number) {
    this.#order = order;
    this.#decide = decision.decide(steps);
  }

  /** Whether something is kept that the next step may reuse, so that its change is worth measuring. */
  get hasKept(): boolean {
    return this.#computedAt.length > 0;
  }

  /** Decides on the next step. `change`: see PassState. Returns whether it reuses, and its scalars. */
  next(change: number | null): { reuses: boolean; scalars: readonly number[] } {
    this.#step++;
    const asked = { step: this.#step, inRow: this.#inRow, reused: this.#reused, change };
    const reuses = this.hasKept && this.#decide(asked);
    const since = this.#step - (this.#computedAt.at(-1) ?? this.#step - 1);
    const orders = Array.from({ length: this.#order + 1 }, (_, i) => i);
    if (reuses) {
      this.#inRow++;
      this.#reused++;
      const factors = orders.map((i) => (i < this.#computedAt.length ? power(since, i) : 0));
      return { reuses, scalars: [0, ...factors] };
    }
    this.#inRow = 0;
    this.#computedAt = [...this.#computedAt, this.#step].slice(-this.#order - 1);
    return { reuses, scalars: [1 / since, ...orders.map(() => 0)] };
  }

  /** Forgets what was kept: the next step computes. */
  forget(): void {
    this.#computedAt = [];
  }
}

/** since^order / order! */
const power = (since: number, order: number): number =>
  order === 0 ? 1 : (power(since, order - 1) * since) / order;
