// The pool of KV pages. A page holds PAGE_TOKENS tokens in every layer at once.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';

export class PagePool {
  readonly total: number;
  readonly #returned: number[] = [];
  readonly #reused = new Set<number>();
  #touched = 0;

  constructor(total: number) {
    this.total = total;
  }

  get free(): number {
    return this.#returned.length + this.total - this.#touched;
  }

  /** Pages that were taken at least once: those beyond were never written. */
  get touched(): number {
    return this.#touched;
  }

  /** Takes a returned page, or else the lowest untouched one, so that few are ever touched; undefined if none is free. */
  take(): number | undefined {
    const page = this.#returned.pop();
    if (page === undefined) return this.#touched < this.total ? this.#touched++ : undefined;
    this.#reused.add(page);
    return page;
  }

  /** Notes that all bytes of a page are written by its taker. */
  overwritten(page: number): void {
    this.#reused.delete(page);
  }

  /** Pages taken for another time since the last call, but for those that were overwritten. */
  takeReused(): number[] {
    const pages = [...this.#reused];
    this.#reused.clear();
    return pages;
  }

  give(pages: readonly number[]): void {
    this.#returned.push(...pages);
  }
}

export function pagesFor(tokens: number): number {
  return Math.ceil(tokens / PAGE_TOKENS);
}
