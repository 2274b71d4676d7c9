// Linear attention with ReLU: every query of an item attends to every key of that item, by a state of dims × (dims + 1) values for each
// head instead of scores. Sums and states are f32.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { fits, mostPixels, view } from './pixels.ts';
import { walkers } from './walkers.ts';

export interface LinearAttention {
  heads: number;
  /** Dimensions of a head; a multiple of 4. */
  dims: number;
  /** Columns from one head of q, k and v to the next; left out: dims. */
  headStride?: number;
  /** Added to the sum of a query's weights. */
  eps: number;
}

const WORKGROUP = 64;
/** Tokens of a lane that reads the state. */
const RUN = 4;
/** Limit on an item's chunks, which are summed apart, and the tokens that one has at least. */
const MOST_CHUNKS = 16;
const CHUNK = 256;

/** relu(q) · (relu(k)ᵀ · v) / (relu(q) · Σ relu(k) + eps); q, k and v [items, …, columns] of equal sizes → [items, …, heads · dims] */
export function linearAttend(q: Columns, k: Columns, v: Columns, attention: LinearAttention): Tensor {
  const tape = tapeOf(q.x);
  const { heads, dims, headStride = dims } = attention;
  const sizes = [q, k, v].map(({ x }) => x.shape.slice(0, -1));
  const items = sizes[0]![0];
  const reach = (heads - 1) * headStride + dims;
  const isWhole = dims % 4 === 0 && headStride % 4 === 0;
  const fitsColumns = [q, k, v].every(({ x, first }) => first + reach <= x.columns);
  if (typeof items !== 'number' || new Set(sizes.map(String)).size > 1 || !isWhole || !fitsColumns)
    throw new Error(
      `linearAttend: q, k and v of [${sizes.join('], [')}], ${heads} heads of ${dims}, ${headStride} apart`,
    );
  const job = { tape, items, tokens: q.x.rows(tape.capacity) / items, attention, headStride };
  return applyState(job, q, stateOf(job, k, v));
}

interface Job {
  tape: Tape;
  items: number;
  tokens: number;
  attention: LinearAttention;
  headStride: number;
}

/** Tokens [first, last) of `items` items from `firstItem` on. */
interface Part {
  firstItem: number;
  items: number;
  first: number;
  last: number;
}

/** Parts of at most as many tokens as a binding of each tensor holds; all items at once where the tensors fit. */
function* partsOf({ tape, items, tokens }: Job, tensors: readonly Tensor[]): Generator<Part> {
  if (tensors.every((tensor) => fits(tape, tensor)))
    return yield { firstItem: 0, items, first: 0, last: tokens };
  const most = Math.min(...tensors.map((tensor) => mostPixels(tape, tensor)));
  if (most < 1) throw new Error('linearAttend: a row exceeds one binding');
  for (let firstItem = 0; firstItem < items; firstItem++)
    for (let first = 0; first < tokens; first += most)
      yield { firstItem, items: 1, first, last: Math.min(tokens, first + most) };
}

/** Binds the rows of a tensor that a part reads; `row` is added to the index of a row of the tensor to get its index in the binding. */
function bound({ tape, tokens }: Job, tensor: Tensor, { firstItem, items, first, last }: Part) {
  const row = firstItem * tokens + first;
  const { operand, first: begins } = view(tape, tensor, {
    first: row,
    last: (firstItem + items - 1) * tokens + last,
  });
  return { operand, row: -begins >>> 0 };
}

/** States of all items, [items · heads · (dims + 1), dims]; the last row of a head is the sum of its keys. */
function stateOf(job: Job, k: Columns, v: Columns): Tensor {
  const { tape, items, tokens, attention, headStride } = job;
  const { heads, dims } = attention;
  const chunk = Math.max(CHUNK, Math.ceil(tokens / MOST_CHUNKS));
  const chunks = Math.ceil(tokens / chunk);
  const states = tape.tensor([items * chunks * heads * (dims + 1), dims]);
  const [keys, values] = [quadsOf(k), quadsOf(v)];
  for (const part of partsOf(job, [k.x, v.x])) {
    const [ofK, ofV] = [bound(job, k.x, part), bound(job, v.x, part)];
    const firstChunk = Math.floor(part.first / chunk);
    const count = Math.ceil(part.last / chunk) - firstChunk;
    tape.dispatch('linear-attend-state.wgsl', {
      args: {
        heads,
        dim_quads: dims / 4,
        tokens,
        chunk,
        chunks,
        first_item: part.firstItem,
        first_chunk: firstChunk,
        first: part.first,
        last: part.last,
        k_row: ofK.row,
        k_quads: keys.stride,
        k_first: keys.first,
        k_head: headStride / 4,
        v_row: ofV.row,
        v_quads: values.stride,
        v_first: values.first,
        v_head: headStride / 4,
        state_quads: states.stride / 4,
      },
      bind: { k: ofK.operand, v: ofV.operand, state: states },
      groups: () => [Math.ceil((heads * (dims / 4) ** 2) / WORKGROUP), count, part.items],
    });
  }
  if (chunks === 1) return states;
  const merged = tape.tensor([items * heads * (dims + 1), dims]);
  const itemQuads = (heads * (dims + 1) * merged.stride) / 4;
  tape.dispatch('linear-attend-merge.wgsl', {
    args: { item_quads: itemQuads, chunks, all_quads: items * itemQuads },
    bind: { x: states, y: merged },
    groups: () => walkers(tape, items * itemQuads),
  });
  return merged;
}

function applyState(job: Job, q: Columns, state: Tensor): Tensor {
  const { tape, tokens, attention, headStride } = job;
  const { heads, dims, eps } = attention;
  const y = tape.tensor([...q.x.shape.slice(0, -1), heads * dims]);
  const queries = quadsOf(q);
  for (const part of partsOf(job, [q.x, y])) {
    const [from, to] = [bound(job, q.x, part), bound(job, y, part)];
    tape.dispatch('linear-attend.wgsl', {
      args: {
        heads,
        dim_quads: dims / 4,
        tokens,
        first_item: part.firstItem,
        first: part.first,
        last: part.last,
        q_row: from.row,
        q_quads: queries.stride,
        q_first: queries.first,
        q_head: headStride / 4,
        y_row: to.row,
        y_quads: y.stride / 4,
        state_quads: state.stride / 4,
        eps,
      },
      bind: { q: from.operand, state, y: to.operand },
      groups: () => [
        Math.ceil(y.stride / 4 / WORKGROUP),
        Math.min(Math.ceil((part.last - part.first) / RUN), tape.device.capabilities.maxWorkgroups),
        part.items,
      ],
    });
  }
  return y;
}
