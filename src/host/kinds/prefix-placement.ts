// Chooses the replica of a language model for a request, as SGLang's cache-aware router does: the one that has served the longest part of the
// prompt's beginning, unless it has clearly more to do than another one.

/** Pages of prompts that are remembered for each replica; those that were used last stay. */
const MOST_PAGES = 2 ** 16;
/** A replica is crowded if it has more requests than another one by this factor, and by half of those that it computes together. */
const CROWDED = 1.5;

export interface PlacementLimits {
  replicas: number;
  /** Requests that a replica computes together. */
  running: number;
  /** Requests that a replica computes or has waiting, at most. */
  most: number;
}

export class PrefixPlacement {
  readonly #limits: PlacementLimits;
  /** Pages that each replica has served, those that were used last at the end. */
  readonly #served: Set<number>[];

  constructor(limits: PlacementLimits) {
    this.#limits = limits;
    this.#served = Array.from({ length: limits.replicas }, () => new Set());
  }

  /** Returns the replica for a prompt with these pages, and remembers them. `busy`: requests of each replica. */
  place(pages: readonly number[], busy: readonly number[]): number {
    const matched = this.#served.map((served) => matchedPages(served, pages));
    const all = [...matched.keys()];
    const longest = Math.max(...matched);
    const least = Math.min(...busy);
    const nearest = this.#leastBusy(
      all.filter((replica) => matched[replica] === longest),
      busy,
    );
    const isCrowded = this.#isCrowded(busy[nearest]!, least);
    const chosen = isCrowded ? this.#leastBusy(all, busy) : nearest;
    this.#remember(chosen, pages);
    return chosen;
  }

  /** Forgets what a replica has served, or all of them. */
  forget(replica?: number): void {
    for (const [i, served] of this.#served.entries())
      if (replica === undefined || replica === i) served.clear();
  }

  #isCrowded(busy: number, least: number): boolean {
    const { running, most } = this.#limits;
    if (busy >= most) return least < most;
    return busy - least > Math.max(1, running / 2) && busy > CROWDED * least;
  }

  /** Of the replicas with the least to do, the one that has served the fewest pages. */
  #leastBusy(replicas: readonly number[], busy: readonly number[]): number {
    const size = (replica: number): number => this.#served[replica]!.size;
    const [first] = replicas.toSorted((a, b) => busy[a]! - busy[b]! || size(a) - size(b));
    return first!;
  }

  /** The first pages are used last, so that a prompt is forgotten from its end. */
  #remember(replica: number, pages: readonly number[]): void {
    const served = this.#served[replica]!;
    for (const page of pages.slice(0, MOST_PAGES).toReversed()) {
      served.delete(page);
      served.add(page);
    }
    for (const oldest of served) {
      if (served.size <= MOST_PAGES) return;
      served.delete(oldest);
    }
  }
}

function matchedPages(served: ReadonlySet<number>, pages: readonly number[]): number {
  const missing = pages.findIndex((page) => !served.has(page));
  return missing < 0 ? pages.length : missing;
}
