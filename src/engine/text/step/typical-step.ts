// Steps as tuning times them: of a prompt whose beginning is cached, or of one row for each of many sequences.

import { PAGE_TOKENS, TILE_ROWS } from '../../../kernels/batch.ts';
import { pagesFor } from '../kv/pages.ts';
import type { BatchWriter, StepSizes } from './batch-writer.ts';
import type { Phase } from './step-part.ts';

/** Tokens of a context, as far as the model has room for them. */
const CONTEXT = 2048;

/** The memory that a step finds: KV pages of each of so many groups of layers, and the longest context in tokens. */
export interface StepMemory {
  slots: number;
  pages: number;
  groups: number;
  contextLength: number;
}

/** Writes a step as tuning times it, whose tokens, keys and values may be anything, of `rows` rows: of a prompt whose beginning is cached, or one for each of as many sequences as there may be. */
export function writeTypicalStep(
  writer: BatchWriter,
  { rows, phase }: { rows: number; phase: Phase },
  { slots, pages, groups, contextLength }: StepMemory,
): Pick<StepSizes, 'tiles' | 'tileRows' | 'contextPages'> {
  const isDecode = phase === 'decode';
  const most = groups === 0 ? contextLength : Math.min(contextLength, pages * PAGE_TOKENS);
  const count = isDecode ? Math.min(rows, slots) : 1;
  const own = isDecode ? 1 : Math.min(rows, most);
  const first = Math.min(CONTEXT, most - own);
  const length = pagesFor(first + own);
  writer.begin({ tileRows: isDecode ? 1 : TILE_ROWS });
  for (let slot = 0; slot < count; slot++) {
    // Sequences have pages of their own while there are some, so that none is found in a cache for another one.
    const table = Array.from({ length }, (_, at) => (slot * length + at) % pages);
    writer.add({
      ...{ first, rows: own, ids: [], slot, tables: Array.from({ length: groups }, () => table) },
      lengthAt: () => first + own,
    });
  }
  const { tiles, tileRows, contextPages } = writer.end();
  return { tiles, tileRows, contextPages };
}
