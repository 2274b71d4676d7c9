// The work of compiling a grammar, counted in steps instead of time: a grammar is refused on every machine or on none, however busy the
// machine is. A step is a table entry that is read or written, 10 to 30 ns; places that do more per entry count it several times.

import { GrammarError } from './grammar-error.ts';

/** Most steps of one grammar. The slowest schemas that are published need a fifth. */
export const MOST_STEPS = 500_000_000;
/** Steps between two calls of `onSteps`, about 2 ms. */
export const STEP_INTERVAL = 100_000;

/** A grammar exceeds its Limits; the message says which limit. */
export class TooLarge extends Error {}

export interface CompileWorkOptions {
  /** Most steps. Default: unlimited. */
  most?: number;
  /** Is called at intervals with the steps so far, and may block the thread. false: the compilation ends. */
  onSteps?: ((spent: number) => boolean) | null;
}

export class CompileWork {
  #spent = 0;
  #most: number;
  #nextCheck: number;
  #isStopped = false;
  readonly #onSteps: ((spent: number) => boolean) | null;

  constructor({ most = Infinity, onSteps = null }: CompileWorkOptions = {}) {
    this.#most = most;
    this.#onSteps = onSteps;
    this.#nextCheck = this.#checkAt();
  }

  /** Whether the compilation was ended from outside. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether the steps are used up or the compilation was ended. */
  get isOver(): boolean {
    return this.#isStopped || this.#spent > this.#most;
  }

  /** Throws TooLarge where the steps are used up, and cancelled where the compilation was ended. */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent >= this.#nextCheck) this.#check();
  }

  /** Runs `attempt` with at most half of the steps that are left. Throws TooLarge where it needs more, whatever it throws then. */
  half<T>(attempt: () => T): T {
    const most = this.#most;
    this.#limit(this.#spent + (most - this.#spent) / 2);
    try {
      return attempt();
    } catch (error) {
      throw this.#spent > this.#most ? this.#tooLarge() : error;
    } finally {
      this.#limit(most);
    }
  }

  #limit(most: number): void {
    this.#most = most;
    this.#nextCheck = this.#checkAt();
  }

  #check(): void {
    if (this.#onSteps?.(this.#spent) === false) this.#isStopped = true;
    if (this.#isStopped) throw new GrammarError('cancelled', 'the compilation of the grammar was ended');
    if (this.#spent > this.#most) throw this.#tooLarge();
    this.#nextCheck = this.#checkAt();
  }

  #tooLarge(): TooLarge {
    return new TooLarge(`over ${Math.floor(this.#most / 1e6)} million steps to compile`);
  }

  #checkAt(): number {
    if (this.#isStopped) return 0;
    return Math.min(this.#most + 1, this.#onSteps === null ? Infinity : this.#spent + STEP_INTERVAL);
  }
}
