// A bound on the cost of one mask or one token, which are computed on the thread that serves requests. The cost is counted in steps
// instead of time, so that a grammar is refused on every machine or on none.

import { GrammarError } from './grammar-error.ts';

/** Steps of one mask or token. A step is a visit of one trie node, about 10 ns. */
const MOST_STEPS = 20_000_000;
/** Steps after which a mask leaves out further tokens that cross from one lexeme into the next. */
const CROSSING_STEPS = 6_000_000;
/** Steps that making or reading one stack node counts as. */
export const NODE_STEPS = 150;

export class WorkBudget {
  #spent = 0;

  /** Starts the count for another mask or token. */
  begin(): void {
    this.#spent = 0;
  }

  /** Throws bad_request where the budget is exceeded. */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent <= MOST_STEPS) return;
    throw new GrammarError(
      'bad_request',
      'the grammar has too many ways to go on at one place of the text: make its repetitions and alternatives fewer',
      { param: 'constraint' },
    );
  }

  /** Whether too much is spent to look at further tokens that cross into the next lexeme. */
  get isCrossingOver(): boolean {
    return this.#spent > CROSSING_STEPS;
  }
}
