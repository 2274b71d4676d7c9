// Splits fused q, k, v into heads: per-head norm, rotation, scaling, and the write of k and v to their pages.

import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import {
  assertHeads,
  type HeadNorms,
  type HeadShape,
  type KvFormat,
  type KvPages,
  type TextBatch,
} from './batch.ts';
import { isCoded } from './kv-format.ts';
import { paddedHead } from './resize-heads.ts';

const WORKGROUP = 32;
/** Lanes of a workgroup on GPUs, and least and most of them that share a head. */
const SHARED_WORKGROUP = 128;
const LEAST_LANES = 8;
const MOST_LANES = 32;

/**
 * `rope`: the result of `rotations`; null: heads are not rotated. qkv [rows, (heads + 2 · kvHeads) · dims], gates beside the
 * queries if they have any → q [rows, heads · dims], normalized, rotated and multiplied by the scores' scale; heads of q and of the pages
 * are padded with zeros to a multiple of 4 dimensions. Where pages hold integer codes, queries and keys are multiplied by a Hadamard matrix. `rows` [rows]: the positions by which queries grow, for a shape with growth.
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
  const { heads, dims, scale = 1 / Math.sqrt(dims), rotated = dims, pairs = 'half', growth } = shape;
  const places = placesOf(shape);
  const width = paddedHead(dims);
  assertHeads('ropeKv', shape, qkv.columns, places.all);
  if (rotated % 2 !== 0 || rotated > dims || (rope && rope.columns !== rotated))
    throw new Error(`ropeKv: ${rotated} of ${dims} dimensions rotated by a table of ${rope?.columns}`);
  if (kv.values === null) throw new Error('ropeKv: pages without values');
  if (growth && !rows) throw new Error('ropeKv: queries grow with positions, and there are no rows');
  // A kernel has at most 8 storage buffers.
  if (growth && norms) throw new Error('ropeKv: heads with norms do not grow with positions');
  const q = tape.tensor([...qkv.shape.slice(0, -1), heads * width]);
  const all = heads + 2 * places.written;
  const { shader, params, heads: perWorkgroup } = kernelOf(tape, kv.format, dims);
  tape.dispatch(shader, {
    params: {
      ...params,
      ...(norms ? { HEAD: 'norm' } : { HEAD: 'plain', GROWTH: growth ? 'steps' : 'none' }),
      ROPE: rope ? 'rope' : 'none',
      PAIRS: pairs,
      TURNED: rotated % 4 === 0 ? 'fours' : 'twos',
      PADDED: width > dims,
    },
    args: {
      heads,
      kv_heads: places.written,
      dims,
      query_step: places.queryStep,
      first_key: places.keys,
      first_value: places.values,
      kv_step: places.kvStep,
      rotated,
      qkv_pairs: qkv.stride / 2,
      q_pairs: q.stride / 2,
      rope_quads: rope ? rope.stride / 4 : 0,
      scale,
      eps: norms?.eps ?? 0,
      norm_values: norms?.values ? 1 : 0,
      growth: growth?.beta ?? 0,
      growth_length: growth?.length ?? 1,
    },
    bind: {
      qkv,
      places: kv.table.places,
      q,
      keys: kv.keys,
      values: kv.values,
      ...(rope ? { rope } : {}),
      ...(growth ? { rows: rows! } : {}),
      ...(norms ? { q_norm: norms.q, k_norm: norms.k } : {}),
    },
    groups: (sizes) => [Math.ceil(all / perWorkgroup), qkv.rows(sizes)],
  });
  return q;
}

/** The kernel for pages of a format, and the heads of a workgroup. */
function kernelOf(
  tape: Tape,
  format: KvFormat,
  dims: number,
): { shader: string; params: Params; heads: number } {
  const lanes = lanesOf(tape, dims);
  if (isCoded(format)) {
    const params = { LANES: lanes === 1 ? LEAST_LANES : lanes, DIMS: paddedHead(dims), CODES: format };
    return { shader: 'rope-kv-codes.wgsl', params, heads: 1 };
  }
  if (lanes === 1) return { shader: 'rope-kv.wgsl', params: { KV: format }, heads: WORKGROUP };
  return {
    shader: 'rope-kv-lanes.wgsl',
    params: { LANES: lanes, KV: format },
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
  if (order === 'heads') {
    if (gated || heads !== kvHeads || kv !== 'both')
      throw new Error(`ropeKv: ${heads} queries and ${kvHeads} keys cannot be neighbours`);
    return { queryStep: 3, keys: 1, values: 2, kvStep: 3, all: 3 * heads, written: heads };
  }
  const queryStep = gated ? 2 : 1;
  const keys = queryStep * heads;
  if (kv === 'none') return { queryStep, keys, values: keys, kvStep: 1, all: keys, written: 0 };
  const values = kv === 'one' ? keys : keys + kvHeads;
  return { queryStep, keys, values, kvStep: 1, all: values + kvHeads, written: kvHeads };
}
