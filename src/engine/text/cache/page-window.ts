// Windows of attention in pages. A sequence gives back the pages of a group of layers that look back on a limited number of tokens once
// no query can see them. If all layers do, a context may be longer than all pages together.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { LayerState } from '../../../models/text/blocks/architecture.ts';
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
