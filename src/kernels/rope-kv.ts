// Splits fused q, k, v into heads: per-head norm, rotation, scaling, and the write of k and v to their pages.

import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import {
  assertHeads,
  type Alibi,
  type HeadNorms,
  type HeadShape,
  type KvFormat,
  type KvPages,
  type TextBatch,
} from './batch.ts';
import { isCoded } from './kv-format.ts';
import { paddedHead, storedHead } from './resize-heads.ts';

const WORKGROUP = 32;
/** Lanes of a workgroup on GPUs, and least and most of them that share a head. */
const SHARED_WORKGROUP = 128;
const LEAST_LANES = 8;
const MOST_LANES = 32;

/**
 * `rope`: the result of `rotations`; null: heads are not rotated. qkv [rows, (heads + 2 · kvHeads) · dims], gates beside the
 * queries if they have any → q [rows, heads · dims], normalized, rotated and multiplied by the scores' scale; heads of q and of the pages
 * are padded with zeros to a multiple of 4 dimensions; with ALiBi they have slopes and positions behind their
 * own. Where pages hold integer codes, queries and keys are multiplied by a Hadamard matrix. `rows` [rows]: the positions, for a shape with growth
 * or ALiBi.
 */
export function ropeKv(
  qkv: Tensor,
  rope: Tensor | null,
  shape: HeadShape,
  kv: KvPages,
  norms: HeadNorms | null,
  { rows }: Partial<Pick<TextBatch, 'rows'>> = {},
): Tensor {
  const tape = tapeOf(qkv);
  const { heads, dims, scale = 1 / Math.sqrt(dims), rotated = dims, pairs = 'half', growth, alibi } = shape;
  const places = placesOf(shape);
  const width = storedHead(shape);
  assertHeads('ropeKv', shape, qkv.columns, places.all);
  if (rotated % 2 !== 0 || rotated > dims || (rope && rope.columns !== rotated))
    throw new Error(`ropeKv: ${rotated} of ${dims} dimensions rotated by a table of ${rope?.columns}`);
  if (kv.values === null && (shape.kv !== 'one' || isCoded(kv.format)))
    throw new Error('ropeKv: pages without values');
  const placed = placedRows(shape, kv, norms, rows);
  const q = tape.tensor([...qkv.shape.slice(0, -1), heads * width]);
  const all = heads + 2 * places.written;
  const { shader, params, heads: perWorkgroup } = kernelOf(tape, kv.format, dims, kv.values === null);
  tape.dispatch(shader, {
    params: {
      ...params,
      ...headParams(shape, norms),
      ROPE: rope ? 'rope' : 'none',
      PAIRS: pairs,
      TURNED: rotated % 4 === 0 ? 'fours' : 'twos',
      WIDENED: width - dims,
    },
    args: {
      heads,
      dims,
      ...placeArgs(places),
      rotated,
      qkv_pairs: qkv.stride / 2,
      q_pairs: q.stride / 2,
      rope_quads: rope ? rope.stride / 4 : 0,
      scale,
      eps: norms?.eps ?? 0,
      norm_values: norms?.values ? 1 : 0,
      growth: growth?.beta ?? 0,
      growth_first: growth?.first ?? 0,
      growth_length: growth?.length ?? 1,
      ...slopesOf(heads, alibi),
    },
    bind: {
      qkv,
      places: kv.table.places,
      q,
      keys: kv.keys,
      ...(kv.values && { values: kv.values }),
      ...(rope ? { rope } : {}),
      ...(placed ? { rows: placed } : {}),
      ...(norms?.q && norms.k ? { q_norm: norms.q, k_norm: norms.k } : {}),
    },
    groups: (sizes) => [Math.ceil(all / perWorkgroup), qkv.rows(sizes)],
  });
  return q;
}

function headParams({ growth, alibi }: HeadShape, norms: HeadNorms | null): Params {
  if (norms) return { HEAD: headNorm(norms) };
  return { HEAD: 'plain', GROWTH: growth ? 'steps' : 'none', BEHIND: alibi ? 'positions' : 'zeros' };
}

function headNorm({ q, turned = false }: HeadNorms): string {
  if (q === null) return 'norm-plain';
  return turned ? 'norm-turned' : 'norm';
}

/** The rows whose positions the heads depend on; null: they depend on none. */
function placedRows(
  { growth, alibi }: HeadShape,
  { format }: KvPages,
  norms: HeadNorms | null,
  rows: TextBatch['rows'] | undefined,
): TextBatch['rows'] | null {
  if (!growth && !alibi) return null;
  if (!rows) throw new Error('ropeKv: heads depend on positions, and there are no rows');
  // A kernel has at most 8 storage buffers, and digits of positions are no codes.
  if (norms || (growth && alibi) || (alibi && isCoded(format)))
    throw new Error('ropeKv: heads that depend on positions have no norms, and with ALiBi no codes');
  return rows;
}

function slopesOf(heads: number, { most, scale }: Alibi = { most: 0, scale: 0 }) {
  const first = 2 ** Math.floor(Math.log2(heads));
  return { slope_heads: first, slope_step: most / first, slope_scale: scale };
}

/** Writes keys and values without rotation to the pages of the rows, which have no queries; x [rows, 2 · kvHeads · dims]: keys, then values. */
export function writeKv(
  x: Tensor,
  { kvHeads, dims }: Pick<HeadShape, 'kvHeads' | 'dims'>,
  kv: KvPages,
): void {
  const tape = tapeOf(x);
  if (kv.values === null) throw new Error('writeKv: pages without values');
  if (x.columns !== 2 * kvHeads * dims)
    throw new Error(`writeKv: ${x.columns} columns for keys and values of ${kvHeads} heads of ${dims}`);
  const { shader, params, heads: perWorkgroup } = kernelOf(tape, kv.format, dims);
  const none = tape.tensor([1, 4]);
  tape.dispatch(shader, {
    params: {
      ...params,
      ...{ HEAD: 'plain', GROWTH: 'none', ROPE: 'none', PAIRS: 'half' },
      TURNED: dims % 4 === 0 ? 'fours' : 'twos',
      WIDENED: paddedHead(dims) - dims,
      BEHIND: 'zeros',
    },
    args: {
      ...{ heads: 0, dims },
      ...placeArgs({
        ...{ queryStep: 1, group: 1, groupStep: 0 },
        ...{ keys: 0, values: kvHeads, kvStep: 1, written: kvHeads },
      }),
      ...{ rotated: dims, qkv_pairs: x.stride / 2, q_pairs: 0, rope_quads: 0, scale: 1, eps: 0 },
      ...{ norm_values: 0, growth: 0, growth_first: 0, growth_length: 1, ...slopesOf(1) },
    },
    bind: { qkv: x, places: kv.table.places, q: none, keys: kv.keys, values: kv.values },
    groups: (sizes) => [Math.ceil((2 * kvHeads) / perWorkgroup), x.rows(sizes)],
  });
}

/** The kernel for pages of a format, and the heads of a workgroup. */
function kernelOf(
  tape: Tape,
  format: KvFormat,
  dims: number,
  isLatent = false,
): { shader: string; params: Params; heads: number } {
  const lanes = lanesOf(tape, dims);
  if (isCoded(format)) {
    const params = { LANES: lanes === 1 ? LEAST_LANES : lanes, DIMS: paddedHead(dims), CODES: format };
    return { shader: 'rope-kv-codes.wgsl', params, heads: 1 };
  }
  const KV = isLatent ? `latent-${format}` : format;
  if (lanes === 1) return { shader: 'rope-kv.wgsl', params: { KV }, heads: WORKGROUP };
  return {
    shader: 'rope-kv-lanes.wgsl',
    params: { LANES: lanes, KV },
    heads: SHARED_WORKGROUP / lanes,
  };
}

/** Lanes that share a head: on GPUs one for four dimensions, a power of two. */
function lanesOf({ plain, device }: Tape, dims: number): number {
  if (plain || device.profile.rowLanes === null) return 1;
  let lanes = LEAST_LANES;
  while (lanes < MOST_LANES && 4 * lanes < dims) lanes *= 2;
  return lanes;
}

/** Places of a row's heads among its columns, in heads. */
function placesOf({ heads, kvHeads, order = 'kinds', kv = 'both', gated = false }: HeadShape) {
  if (order === 'values-first') {
    if (gated || kv !== 'both') throw new Error('ropeKv: values before keys have neither gates nor shares');
    const [group, values] = [heads, heads + kvHeads];
    const kvPlaces = { keys: values, values: heads, kvStep: 1 };
    return { queryStep: 1, group, groupStep: 0, ...kvPlaces, all: values + kvHeads, written: kvHeads };
  }
  if (order === 'groups') {
    if (gated || kv !== 'both')
      throw new Error('ropeKv: keys beside their queries need values of their own, and no gates');
    const group = heads / kvHeads;
    const step = group + 2;
    const kvPlaces = { keys: group, values: group + 1, kvStep: step };
    return { queryStep: 1, group, groupStep: step, ...kvPlaces, all: step * kvHeads, written: kvHeads };
  }
  const queryStep = gated ? 2 : 1;
  const queries = { queryStep, group: heads, groupStep: 0 };
  const keys = queryStep * heads;
  if (kv === 'none') return { ...queries, keys, values: keys, kvStep: 1, all: keys, written: 0 };
  const values = kv === 'one' ? keys : keys + kvHeads;
  return { ...queries, keys, values, kvStep: 1, all: values + kvHeads, written: kvHeads };
}

function placeArgs(places: Omit<ReturnType<typeof placesOf>, 'all'>) {
  return {
    kv_heads: places.written,
    query_step: places.queryStep,
    group: places.group,
    group_step: places.groupStep,
    first_key: places.keys,
    first_value: places.values,
    kv_step: places.kvStep,
  };
}
