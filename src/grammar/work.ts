// Bounds the cost of one mask, or of one token, on the thread that serves. It is counted in steps, not in time, so that a grammar is refused on
// every machine or on none.

import { EngineError } from '../files/error.ts';

/** Nodes of the vocabulary's tree that are looked at for one mask; some 10 ns each. */
const MOST = 20_000_000;
/** From here on ways out of a piece of text are left out. */
const MANY = 6_000_000;
/** Nodes that can be looked at while one stack is made or read. */
export const CELL_WORK = 150;

export class Work {
  #spent = 0;

  /** Another mask or token. */
  begin(): void {
    this.#spent = 0;
  }

  /** Throws bad_request where it is more than may be. */
  spend(nodes: number): void {
    this.#spent += nodes;
    if (this.#spent <= MOST) return;
    throw new EngineError(
      'bad_request',
      'the grammar has too many ways to go on at one place of the text: make its repetitions and alternatives fewer',
      { param: 'constraint' },
    );
  }

  get isMuch(): boolean {
    return this.#spent > MANY;
  }
}
