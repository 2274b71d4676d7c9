// A workgroup takes one of its tile's chunks; attention-merge.wgsl makes one result of them, where there are several.
#import "lib/chunk-parts.wgsl"
@group(0) @binding(8) var<storage, read_write> parts: array<vec4f>;

fn is_apart(chunks: vec2u) -> bool {
  return chunks.x < chunks.y;
}

// First and last page; the first is beyond the last where none of the chunk is seen.
fn pages_of(chunks: vec2u, seen: vec2u, index: u32) -> vec2u {
  let first = (chunks.x + index) * CHUNK;
  return vec2u(max(seen.x, first), min(seen.y, first + CHUNK - 1u));
}

fn keep(chunk: u32, row: u32, head: u32, met: Met, quad: u32, value: vec4f) {
  let at = part_at(chunk, row, head);
  parts[at] = vec4f(met.largest, met.sum, 0.0, 0.0);
  parts[at + 1u + quad] = value;
}
