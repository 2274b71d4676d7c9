// Attention of whole texts with learned terms for the distance of two tokens, in keys and in queries (DeBERTa's disentangled attention). Rows lie
// side by side, so that there are no pages.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { TILE_ROWS, type TextBatch } from './batch.ts';
import { tileStrips } from './dispatch-work.ts';

/** Queries of a workgroup of distance-attend.wgsl, and what its results have room for. */
const QUERIES = 4;
export const MOST_DISTANCE_DIMS = 128;

interface DistanceAttention {
  heads: number;
  /** Dimensions of a head, a multiple of 4. */
  dims: number;
  /** Factor of the scores. */
  scale: number;
  places: DistancePlaces;
}

/** How distances share places. */
export interface DistancePlaces {
  /** Places on either side: that of no distance has this number. */
  span: number;
  /** Distances up to this one have places of their own. */
  near: number;
  /** Farther ones, up to this one, share the next `near` - 1 places by their logarithm; null: they have places of their own, too. */
  far: number | null;
}

/** The places that texts of up to `tokens` tokens use. */
export function placesWithin(
  { span, near, far }: DistancePlaces,
  tokens: number,
): { first: number; count: number } {
  const most = far === null || tokens <= near ? Math.min(span, tokens) : span;
  return { first: span - most, count: Math.min(2 * most + 1, span + most) };
}

/**
 * x [rows, 3 · heads · dims]: queries, keys and values; table [count, at least 2 · heads · dims]: queries and keys of the places from `first` on →
 * [rows, heads · dims]
 */
export function distanceAttend(
  x: Tensor,
  table: Tensor,
  first: number,
  { tiles, spans }: Pick<TextBatch, 'tiles' | 'spans'>,
  { heads, dims, scale, places }: DistanceAttention,
): Tensor {
  const tape = tapeOf(x);
  const width = heads * dims;
  if (x.columns !== 3 * width || table.columns < 2 * width || dims % 4 > 0 || dims > MOST_DISTANCE_DIMS)
    throw new Error(
      `distanceAttend: ${heads} heads of ${dims} in ${x.columns} columns, and ${table.columns} of places`,
    );
  if (!spans)
    throw new Error('distanceAttend: the rows of a batch without spans do not see their whole text');
  const y = tape.tensor([...x.shape.slice(0, -1), width]);
  const { span, near, far } = places;
  const args = {
    heads,
    quads: dims / 4,
    x_quads: x.stride / 4,
    place_quads: table.stride / 4,
    y_quads: y.stride / 4,
    span,
    first_place: first,
    near: far === null ? span : near,
    growth: far === null ? 0 : (near - 1) / Math.log(far / near),
    scale,
  };
  const tileWork = ({ tileRows = 0, rows = 0 }): number => 4 * tileRows * width * rows;
  for (const strip of tileStrips(tape, tileWork))
    tape.dispatch('distance-attend.wgsl', {
      args: { ...args, first_tile: strip.first },
      bind: { x, tiles, places: table, y },
      groups: (sizes) => [strip.count(sizes), heads, Math.ceil((sizes['tileRows'] ?? TILE_ROWS) / QUERIES)],
    });
  return y;
}
