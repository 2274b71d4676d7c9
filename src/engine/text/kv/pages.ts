// The pool of KV pages, and windows of attention in pages. A page holds PAGE_TOKENS tokens in every layer at once. A sequence gives back the
// pages of a group of layers that look back on a limited number of tokens once no query can see them. If all layers do, a context may be
// longer than all pages together.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { LayerState } from '../../../models/text/blocks/architecture.ts';

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

/** Tokens that the queries of any layer see, themselves included; null: some layer sees all. */
export function widestWindow(layers: readonly LayerState[]): number | null {
  const windows = layers.flatMap((layer) => (layer.kind === 'kv' ? [layer.window] : []));
  return windows.length === 0 || windows.includes(null) ? null : Math.max(...(windows as number[]));
}

/** Pages that one sequence holds at most during steps of up to `rows` rows. */
export function windowPages(window: number, rows: number): number {
  return pagesFor(window + rows) + 2;
}

/** The first page that a query at token `position` or a later one sees. */
export function firstVisiblePage(position: number, window: number): number {
  return Math.floor(Math.max(0, position - window + 1) / PAGE_TOKENS);
}
