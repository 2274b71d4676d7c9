// The selective scan of prompts as products of matrices (arXiv 2405.21060): chunks of CHUNK_ROWS rows at fixed positions of a sequence, and
// states carried from chunk to chunk. Rows outside of whole chunks are left to the scan row by row. On GPUs whose decode rows have kernels of
// their own; elsewhere rows of prompts sum like decode rows.
//
// What a row of a head with N state dims and P columns costs, of 64 heads of 128 × 64 in 8 groups:
// - row by row 3·N·P operations (decay, B ⊗ x, SᵀC): 24,576, and one row waits for the one before, with three barriers every four rows;
// - in chunks of L rows N·P for the state, N·P to read it, L·P for the rows of the chunk, and L·N for C·B, which the heads of a group share:
//   18,944 multiply-adds, of which only states follow each other, a chunk at a time; and 8·N·P / L = 2,048 bytes, since states are written and
//   read once a chunk. A card of 30 to 130 multiply-adds for each 4 bytes that it moves takes as long for these as for the products, or longer.
// Longer chunks would move less, but states are cached and steps are cut at pages of 32 tokens, and a chunk that a cut divides sums otherwise.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { PAGE_TOKENS, type StateSlots, type TextBatch } from './batch.ts';
import { isDecode } from './matvec.ts';

/** Rows of a chunk; as in shaders/lib/selective-scan-chunks.wgsl. Steps of a prompt are cut between pages, and so never within a chunk. */
const CHUNK_ROWS = PAGE_TOKENS;
/** Quads of state dims and of columns in a tile. */
const [STATE_QUADS, COLUMN_QUADS] = [8, 16];
/** Values of a row and head among the terms. */
const TERMS = 4;

interface ChunkedScan {
  heads: number;
  dims: number;
  groups: number;
  stateDims: number;
}

/** Whether rows of x in whole chunks are computed as products of matrices. */
export function isChunked(tape: Tape, x: Tensor, shape: ChunkedScan): boolean {
  const { heads, dims, groups, stateDims } = shape;
  const { profile, capabilities } = tape.device;
  if (tape.plain || profile.deltaState === 'slot' || profile.matvecRows === null || isDecode(x)) return false;
  const places = Math.floor(x.rows(tape.capacity) / CHUNK_ROWS);
  // 2·N·P + L·P + L·N·groups / heads < 3·N·P
  const isCheaper = stateDims * dims > CHUNK_ROWS * (dims + (stateDims * groups) / heads);
  const fits = 4 * places * heads * stateDims * dims <= capabilities.bindingLimit;
  return places > 0 && isCheaper && fits;
}

export interface ChunkOperands {
  /** Arguments and operands of the steps, as selective-scan-terms.wgsl names them. */
  stepArgs: Record<string, number>;
  steps: { steps: Tensor; rates: Tensor; offsets: Tensor };
  skips: Tensor;
  /** Quads of a slot before the states, and of a slot. */
  slotArgs: { state_first: number; state_stride: number };
  store: StateSlots;
}

/** Computes the rows of y that belong to whole chunks, and the states behind them. */
export function scanChunks(
  tape: Tape,
  { x, y }: { x: Tensor; y: Tensor },
  shape: ChunkedScan,
  { sequences, rows }: TextBatch,
  { stepArgs, steps, skips, slotArgs, store }: ChunkOperands,
): void {
  const { heads, dims, groups, stateDims } = shape;
  const placesAt = (sizes: Tape['capacity']): number => Math.floor(x.rows(sizes) / CHUNK_ROWS);
  const places = placesAt(tape.capacity);
  const terms = tape.tensor([1, places * heads * CHUNK_ROWS * TERMS]);
  const products = tape.tensor([1, places * groups * CHUNK_ROWS * CHUNK_ROWS]);
  const before = tape.tensor([1, places * heads * stateDims * dims]);
  const heading = { heads, groups, value_quads: dims / 4, state_quads: stateDims / 4, x_quads: x.stride / 4 };
  tape.dispatch('selective-scan-terms.wgsl', {
    args: { ...heading, ...stepArgs },
    bind: { x, ...steps, sequences, rows, terms, products },
    groups: (sizes) => [groups, placesAt(sizes)],
  });
  const tiles = Math.ceil(dims / 4 / COLUMN_QUADS);
  tape.dispatch('selective-scan-states.wgsl', {
    args: { ...heading, ...slotArgs, column_tiles: tiles },
    bind: { x, terms, before, sequences, states: store.values },
    groups: (sizes) => [
      tiles * Math.ceil(stateDims / 4 / STATE_QUADS),
      heads,
      placesAt(sizes) > 0 ? (sizes['sequences'] ?? 0) : 0,
    ],
  });
  const padding = (y.stride - y.columns) / 4;
  tape.dispatch('selective-scan-outputs.wgsl', {
    args: { ...heading, y_quads: y.stride / 4 },
    bind: { x, terms, before, products, sequences, rows, skips, y },
    groups: (sizes) => [Math.ceil((dims / 4 + padding) / COLUMN_QUADS), heads, placesAt(sizes)],
  });
}
