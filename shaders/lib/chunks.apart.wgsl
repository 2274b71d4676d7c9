// Each workgroup computes one chunk of its tile; attention-merge.wgsl merges several chunks.
#import "lib/chunk-parts.wgsl"
@group(0) @binding(8) var<storage, read_write> parts: array<vec4f>;

fn is_apart(chunks: vec2u) -> bool {
  return chunks.x < chunks.y;
}

// First and last page of a chunk; the first is beyond the last if the query sees none of the chunk.
fn pages_of(chunks: vec2u, seen: vec2u, index: u32) -> vec2u {
  let first = (chunks.x + index) * CHUNK;
  return vec2u(max(seen.x, first), min(seen.y, first + CHUNK - 1u));
}

fn keep(chunk: u32, row: u32, head: u32, met: Met, quad: u32, value: vec4f) {
  let at = part_at(chunk, row, head);
  parts[at] = vec4f(met.largest, met.sum, 0.0, 0.0);
  parts[at + 1u + quad] = value;
}
