// How often proposed tokens were right: a share with a memory of the last trials, which begins at an assumption.

/** Trials that the assumption at the beginning counts for. */
const ASSUMED_TRIALS = 4;
/** Trials after which an observation counts half as much. */
const HALF_LIFE = 48;
const DECAY = 2 ** (-1 / HALF_LIFE);

export class Acceptance {
  #right: number;
  #trials = ASSUMED_TRIALS;

  /** `assumed`: the share before any trial, 0 to 1. */
  constructor(assumed: number) {
    this.#right = assumed * ASSUMED_TRIALS;
  }

  /** Chance that the next token is right. */
  get chance(): number {
    return this.#right / this.#trials;
  }

  add(isRight: boolean): void {
    this.#right = this.#right * DECAY + Number(isRight);
    this.#trials = this.#trials * DECAY + 1;
  }
}
