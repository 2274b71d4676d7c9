// How the softmax over a long context is merged from its chunks, which one workgroup or several compute.
#import "lib/softmax-state.wgsl"

// Each chunk of this many pages has its own softmax. Chunks are merged in order whichever workgroup computed them, so that the
// result is the same.
const CHUNK = 8u;        // pages per chunk

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
