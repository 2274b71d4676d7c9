// Paged attention of a prompt's rows on matrix units: queries and weights are rounded to f16, which keys and values are; sums are f32. How rows are
// divided depends on the heads and the adapter alone, never on a step.

import { fragmentParams } from '../gpu/matrix-units.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import { TILE_ROWS, type HeadShape, type KvFormat } from './batch.ts';
import { isCoded } from './kv-format.ts';
import { softmaxTiles, tileParams } from './softmax-tile.ts';

/** Queries of a workgroup. */
const ROWS = [64, 32, 16];

export interface PromptKernel {
  shader: string;
  /** Names the kernel in the results of tuning; left out: it has no variants. */
  tuned?: string;
  params: Params;
  /** Queries of a workgroup. */
  queries: number;
}

/** The kernel on matrix units; null: attention of these heads does not use them. */
export function promptMatrixKernel(
  { device }: Tape,
  { heads, kvHeads, dims }: HeadShape,
  format: KvFormat,
): PromptKernel | null {
  const { profile, capabilities } = device;
  if (profile.sharedTiles === null || format === 'f32') return null;
  const queries = (TILE_ROWS * heads) / kvHeads;
  const tiles = softmaxTiles(capabilities, dims, ROWS);
  const tile = tiles.find(({ rows }) => rows < 2 * queries) ?? tiles.at(-1);
  if (tile === undefined) return null;
  return {
    shader: 'attention-prompt-matrix.wgsl',
    params: {
      ...fragmentParams(capabilities.matrixUnit!),
      ...tileParams(tile),
      LOADS_AHEAD: profile.loadsAhead,
      ...(isCoded(format) ? { LINES: 'codes', CODES: format } : { LINES: 'halves' }),
    },
    queries: tile.rows,
  };
}
