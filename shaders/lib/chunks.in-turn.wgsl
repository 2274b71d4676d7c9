// A workgroup computes all chunks in turn and keeps the merged result in y.
fn is_apart(chunks: vec2u) -> bool {
  return false;
}

// First and last page of a chunk.
fn pages_of(chunks: vec2u, seen: vec2u, index: u32) -> vec2u {
  return seen;
}

fn keep(chunk: u32, row: u32, head: u32, met: Met, quad: u32, value: vec4f) {
}
