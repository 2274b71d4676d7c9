// Runs a model page once to learn which weights it reads.

import type { StoredNames } from '../../models/input-orders.ts';
import { WeightTable, type DevicePart, type WeightHandle, type WeightRequest } from '../../models/weights.ts';

/** A page and the weights that it requested. */
export interface Collected<Page> {
  page: Page;
  requests: readonly WeightRequest[];
  /** The matrix or tensor that the page closes over, one per request; without memory until it is placed. */
  handles: readonly WeightHandle[];
  /** Names that a checkpoint may hold although the page does not read them. */
  ignored: readonly RegExp[];
}

/** `names`: the names of the checkpoint's tensors; `part`: that of the matrices which devices divide, left out: all. */
export function collect<Page>(
  names: StoredNames,
  build: (weights: WeightTable) => Page,
  part?: DevicePart,
): Collected<Page> {
  const table = new WeightTable(names, part);
  const page = build(table);
  const { requests, handles, ignored } = table;
  return { page, requests, handles, ignored };
}
