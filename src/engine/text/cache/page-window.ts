// Windows of attention in pages: where every layer that has pages looks back on a limited number of tokens, a sequence gives its pages
// back once no query can see them, and a context may be longer than all pages together.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { LayerState } from '../../../models/text/architecture.ts';
import { pagesFor } from './pages.ts';

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

/** Tokens of the longest context that so many pages serve. */
export function contextWithin(pages: number, layers: readonly LayerState[], rows: number): number {
  const window = widestWindow(layers);
  return window !== null && pages >= windowPages(window, rows) ? Infinity : pages * PAGE_TOKENS;
}
