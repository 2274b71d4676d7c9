// How the softmax of a long context is put together from its chunks, by one workgroup or by several.

// The softmax of so many pages is worked out by itself. Chunks are merged in order, whoever worked them out: the result is the same.
const CHUNK = 8u;        // pages
const MASKED = -1e30;

// State of a query over the tokens it has met: the largest score, and the sum of exp(score - largest).
struct Met {
  largest: f32,
  sum: f32,
}

// Factors of both states when they are merged, and the merged state.
struct Merge {
  before: f32,
  chunk: f32,
  met: Met,
}

fn merge(before: Met, chunk: Met) -> Merge {
  let largest = max(before.largest, chunk.largest);
  let a = exp(before.largest - largest);
  let b = exp(chunk.largest - largest);
  return Merge(a, b, Met(largest, fma(chunk.sum, b, before.sum * a)));
}
