// The time that searches for the fastest variants may take together.

export class SearchTime {
  /** Milliseconds that all searches together may take. */
  readonly limit: number;
  readonly #now: () => number;
  #left: number;
  #begun: number | null = null;

  /** `limit` and `now` in milliseconds. */
  constructor(limit: number, now: () => number) {
    this.limit = limit;
    this.#left = limit;
    this.#now = now;
  }

  /** Begins to count; `end` must follow. */
  begin(): void {
    this.#begun = this.#now();
  }

  /** Whether so much of what was left at the beginning has passed. */
  isOver(share = 1): boolean {
    return share * this.#left - this.#counted() <= 0;
  }

  end(): void {
    this.#left -= this.#counted();
    this.#begun = null;
  }

  #counted(): number {
    return this.#begun === null ? 0 : this.#now() - this.#begun;
  }
}
