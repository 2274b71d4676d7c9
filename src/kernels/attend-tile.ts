// The tiles of attend-shared.wgsl. A query's keys are visited in groups whose size follows from the head's dimensions alone, so that the
// choice among the tiles of one size of heads changes no result.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';

/** How the lanes of a workgroup divide heads of at most `dims` dimensions. */
interface HeadTile {
  dims: number;
  /** Lanes that divide the queries. */
  rowLanes: number;
  /** Lanes that divide the dimensions, by quads, and the keys, of which each lane has four in a group. */
  columnLanes: number;
  /** Keys whose values are in workgroup memory at once; a divisor of 2 · columnLanes. */
  valueKeys: number;
}

/** 128 to 256 lanes, which have 1 to 4 quads of dimensions each; few lanes are left without a quad. */
const HEADS: readonly HeadTile[] = [
  { dims: 32, rowLanes: 16, columnLanes: 8, valueKeys: 16 },
  { dims: 40, rowLanes: 16, columnLanes: 10, valueKeys: 20 },
  { dims: 64, rowLanes: 8, columnLanes: 16, valueKeys: 16 },
  { dims: 80, rowLanes: 8, columnLanes: 20, valueKeys: 8 },
  { dims: 96, rowLanes: 8, columnLanes: 24, valueKeys: 16 },
  { dims: 128, rowLanes: 8, columnLanes: 16, valueKeys: 8 },
  { dims: 160, rowLanes: 8, columnLanes: 20, valueKeys: 8 },
  { dims: 192, rowLanes: 8, columnLanes: 24, valueKeys: 8 },
  { dims: 256, rowLanes: 8, columnLanes: 32, valueKeys: 8 },
  { dims: 320, rowLanes: 8, columnLanes: 20, valueKeys: 4 },
  { dims: 384, rowLanes: 8, columnLanes: 24, valueKeys: 4 },
  { dims: 512, rowLanes: 8, columnLanes: 32, valueKeys: 4 },
];
/** What scores are dot products of: floats, or codes of 8 bits (attend-codes.ts). */
export type Dots = 'floats' | 'codes';

/** Quads of dimensions, or of 16 codes, that the scores take into workgroup memory at once. */
const CHUNKS: Readonly<Record<Dots, readonly number[]>> = { floats: [4, 5, 6], codes: [2, 1] };
/** Sums of a lane where the profile says none, because it has other kernels for floats in all keys. */
const LEAST_SUMS = 16;
/** Quads of queries of a lane. */
const QUERY_QUADS = [2, 1];

interface Tile extends Variant {
  queryQuads: number;
}

interface TileParams extends Params {
  ROW_LANES: number;
  COLUMN_LANES: number;
  QUERY_QUADS: number;
  OUT_QUADS: number;
  HEAD_CHUNK: number;
  VALUE_KEYS: number;
  DOTS: Dots;
}

export interface AttendTile {
  /** Key under which its tile is tuned. */
  tuned: string;
  params: TileParams;
  /** Queries of a workgroup. */
  queries: number;
}

export interface AttendShape {
  /** Number of queries of an item of the batch. */
  queries: number;
  keys: number;
  /** Heads of all items. */
  heads: number;
  dims: number;
}

/**
 * The largest tile that the queries fill, and with which there are enough workgroups to occupy the device; or the one that tuning found. null:
 * none, because the heads are too large or the workgroup memory is too small.
 */
export function attendTile(
  { device }: Tape,
  shape: AttendShape,
  { dots, isSparse }: { dots: Dots; isSparse: boolean } = { dots: 'floats', isSparse: false },
): AttendTile | null {
  const { queries, keys, heads, dims } = shape;
  const { profile, capabilities } = device;
  const sums = profile.attendSums ?? (dots === 'codes' || isSparse ? LEAST_SUMS : null);
  if (sums === null) return null;
  const most = dots === 'codes' ? Math.min(sums, profile.codeSums) : sums;
  const wanted = profile.sharedTiles ?? 0;
  const tiles = QUERY_QUADS.flatMap((queryQuads) => {
    const params = paramsOf(dims, queryQuads, dots);
    const fits =
      params &&
      (sumsOf(params) <= most || queryQuads === QUERY_QUADS.at(-1)) &&
      bytesOf(params) <= capabilities.workgroupBytes;
    return fits ? [{ queryQuads, queries: queriesOf(params), params }] : [];
  });
  const isFilled = (tile: { queries: number }): boolean =>
    tile.queries < 2 * queries && heads * Math.ceil(queries / tile.queries) >= wanted;
  const standard = tiles.find(isFilled) ?? tiles.at(-1);
  if (standard === undefined) return null;
  const kind = dots === 'floats' ? 'attend' : 'attend on codes';
  const tuned = `${kind}, ${queries} queries, ${keys} keys, ${heads} heads of ${dims}`;
  const variants = [standard, ...tiles.filter((one) => one !== standard)].map(({ queryQuads }) => ({
    queryQuads,
  }));
  const { queryQuads } = device.tuning.choose(tuned, variants as [Tile, ...Tile[]]);
  const chosen = tiles.find((one) => one.queryQuads === queryQuads)!;
  return { tuned, params: chosen.params, queries: chosen.queries };
}

function paramsOf(dims: number, queryQuads: number, dots: Dots): TileParams | null {
  const head = HEADS.find((one) => dims <= one.dims);
  if (head === undefined) return null;
  return {
    ROW_LANES: head.rowLanes,
    COLUMN_LANES: head.columnLanes,
    QUERY_QUADS: queryQuads,
    OUT_QUADS: Math.ceil(dims / 4 / head.columnLanes),
    HEAD_CHUNK: headChunk(dots === 'floats' ? dims / 4 : Math.ceil(dims / 16), CHUNKS[dots]),
    VALUE_KEYS: head.valueKeys,
    DOTS: dots,
  };
}

/** The number of quads at once that fills the last turn best. */
function headChunk(quads: number, chunks: readonly number[]): number {
  const padded = (chunk: number): number => Math.ceil(quads / chunk) * chunk;
  return chunks.reduce((best, chunk) => (padded(chunk) < padded(best) ? chunk : best));
}

const queriesOf = ({ ROW_LANES, QUERY_QUADS }: TileParams): number => 4 * ROW_LANES * QUERY_QUADS;

/** Sums of a lane. */
const sumsOf = ({ QUERY_QUADS, OUT_QUADS }: TileParams): number => 16 * QUERY_QUADS * OUT_QUADS;

/** Workgroup memory, as lib/attend-tile.wgsl, lib/attend-dots.* and attend-shared.wgsl declare it. */
function bytesOf(params: TileParams): number {
  const { COLUMN_LANES, OUT_QUADS, HEAD_CHUNK, VALUE_KEYS } = params;
  const queries = queriesOf(params);
  const scores = HEAD_CHUNK * (queries + 2 + 4 * COLUMN_LANES + 2);
  const sums = 2 * COLUMN_LANES * (queries / 4 + 1) + VALUE_KEYS * OUT_QUADS * COLUMN_LANES;
  const quads = params.DOTS === 'floats' ? Math.max(scores, sums) : scores + sums;
  return 16 * quads + 2 * 4 * queries;
}
