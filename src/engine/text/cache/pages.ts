// Which KV pages are free. A page is PAGE_TOKENS tokens in every layer at once.

export interface PagePool {
  readonly total: number;
  readonly free: number;
  /** Pages that were ever handed out: those beyond have never been written. */
  readonly touched: number;
  /** Lowest page first, so that few are ever touched; undefined when none is free. */
  take(): number | undefined;
  give(pages: readonly number[]): void;
}

export function createPagePool(total: number): PagePool {
  const returned: number[] = [];
  let touched = 0;
  return {
    total,
    get free() {
      return returned.length + total - touched;
    },
    get touched() {
      return touched;
    },
    take() {
      return returned.pop() ?? (touched < total ? touched++ : undefined);
    },
    give(pages) {
      returned.push(...pages);
    },
  };
}
