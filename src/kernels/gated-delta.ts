// The gated delta rule: linear attention whose state forgets by a learned rate and corrects what it has stored under a key. The state
// of each sequence is kept in its slot, beside that of the convolution before it. Rows are computed in chunks that begin at fixed
// positions; the rows of an unfinished chunk are kept beside the state, so that a result does not depend on the division into steps.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { StateSlots, TextBatch } from './batch.ts';

/** Heads of a gated delta rule. Value heads are a multiple of the key heads, dims multiples of 4. */
export interface DeltaHeads {
  keyHeads: number;
  keyDims: number;
  /** Value heads. */
  heads: number;
  dims: number;
  /** Value head h reads key head h mod keyHeads; otherwise consecutive value heads share one. */
  tiled: boolean;
}

export interface DeltaGates {
  /** [rows, 2 · heads]: `run` learning rates before σ, as many decays before softplus, and so on. */
  raw: Tensor;
  run: number;
  /** [heads]: rates of decay, or the logarithms of their negatives. */
  rates: Tensor;
  logarithms: boolean;
  /** [heads]: added to decays. */
  offsets: Tensor;
}

/** f32 values of one sequence's state: those of the heads, then the rows of an unfinished chunk. */
export function deltaState(shape: DeltaHeads): number {
  return headStates(shape) + (CHUNK - 1) * keptRow(shape);
}

function headStates({ heads, keyDims, dims }: DeltaHeads): number {
  return heads * keyDims * dims;
}

/** Keys, what the heads wrote, and their decays. */
function keptRow({ keyHeads, keyDims, heads, dims }: DeltaHeads): number {
  return keyHeads * keyDims + heads * dims + 4 * Math.ceil(heads / 4);
}

/** A slot's part for the state. */
export interface DeltaSlots {
  store: StateSlots;
  /** f32 values of a slot before it; a multiple of 4. */
  first: number;
  /** f32 values of a slot; a multiple of 4. */
  stride: number;
}

/**
 * qkv [rows, 2 · keyHeads · keyDims + heads · dims], queries first → [rows, heads · dims]. Queries and keys are brought to length 1,
 * queries are divided by √keyDims. Source: transformers' torch_recurrent_gated_delta_rule.
 */
export function gatedDelta(
  qkv: Tensor,
  gates: DeltaGates,
  shape: DeltaHeads,
  batch: TextBatch,
  slots: DeltaSlots,
): Tensor {
  const tape = tapeOf(qkv);
  const { keyHeads, keyDims, heads, dims } = shape;
  assertShape(qkv, gates, shape, slots);
  const { shader, params, quads } = kernelOf(tape, keyDims);
  const terms = tape.tensor([...qkv.shape.slice(0, -1), 2 * heads * TERMS]);
  const y = tape.tensor([...qkv.shape.slice(0, -1), heads * dims]);
  const { sequences } = batch;
  const states = slots.store.values;
  const shared = {
    heads,
    qkv_quads: qkv.stride / 4,
    state_stride: slots.stride / 4,
    kept_first: (slots.first + headStates(shape)) / 4,
    kept_quads: keptRow(shape) / 4,
  };
  const own = {
    key_heads: keyHeads,
    tiled: Number(shape.tiled),
    key_quads: keyDims / 4,
    value_quads: dims / 4,
    terms: terms.stride / 2,
  };
  const gating = { gate_stride: gates.raw.stride, gate_run: gates.run };
  const { raw, rates, offsets } = gates;
  tape.dispatch('gated-delta-terms.wgsl', {
    args: {
      ...shared,
      ...own,
      ...gating,
      scale: 1 / Math.sqrt(keyDims),
      logarithms: Number(gates.logarithms),
    },
    bind: { qkv, gates: raw, rates, offsets, sequences, rows: batch.rows, terms, states },
    groups: (sizes) => [keyHeads, qkv.rows(sizes)],
  });
  const padding = (y.stride - y.columns) / 4;
  tape.dispatch(shader, {
    params,
    args: { ...shared, ...own, y_quads: y.stride / 4, state_first: slots.first / 4 },
    bind: { qkv, terms, y, sequences, states },
    groups: (sizes) => [Math.ceil((dims / 4 + padding) / quads), heads, sizes['sequences'] ?? 0],
  });
  const keys = (keyHeads * keyDims) / 4;
  tape.dispatch('gated-delta-rows.wgsl', {
    args: { ...shared, ...gating, key_first: keys, keys, values: (heads * dims) / 4 },
    bind: { qkv, gates: raw, sequences, states },
    groups: (sizes) => [Math.ceil((keys + heads / 4) / ROW_LANES), sizes['sequences'] ?? 0],
  });
  return y;
}

interface Kernel {
  shader: string;
  params: Params;
  /** Quads of value columns in a workgroup. */
  quads: number;
}

/** Tokens of a chunk, and pairs of its terms for each row and head. */
const CHUNK = 8;
const TERMS = 2 + CHUNK + CHUNK / 2;
/** Lanes that share the key dims of a value column in registers, 64 values of 128 dims for each, and quads of columns in a workgroup. */
const [PARTS, QUADS] = [CHUNK, 4];
/** Lanes of a workgroup that keeps the state in its slot. */
const SLOT_QUADS = 8;
const ROW_LANES = 32;

function kernelOf({ device, lanes }: Tape, keyDims: number): Kernel {
  if (device.profile.deltaState === 'slot' && lanes > 1 && lanes <= CHUNK)
    return {
      shader: 'gated-delta-lanes.wgsl',
      params: { TILES: CHUNK / lanes, LANES: lanes },
      quads: SLOT_QUADS,
    };
  const held = Math.ceil(keyDims / 4 / PARTS);
  const params = { PARTS, QUADS, HELD: held, WHOLE: 4 * PARTS * held === keyDims };
  return { shader: 'gated-delta.wgsl', params, quads: QUADS };
}

function assertShape(
  qkv: Tensor,
  { raw, run }: DeltaGates,
  shape: DeltaHeads,
  { first, stride }: DeltaSlots,
): void {
  const { keyHeads, keyDims, heads, dims } = shape;
  const columns = 2 * keyHeads * keyDims + heads * dims;
  if (heads % keyHeads !== 0 || keyDims % 4 !== 0 || dims % 4 !== 0 || qkv.columns !== columns)
    throw new Error(
      `gatedDelta: ${keyHeads} key heads of ${keyDims} and ${heads} value heads of ${dims} in ${qkv.columns} columns`,
    );
  if (raw.columns !== 2 * heads || heads % run !== 0)
    throw new Error(`gatedDelta: ${raw.columns} gates in runs of ${run} for ${heads} heads`);
  if (first % 4 !== 0 || stride % 4 !== 0 || first + deltaState(shape) > stride)
    throw new Error(`gatedDelta: states of ${deltaState(shape)} from ${first} on in slots of ${stride}`);
}
