// Reads the layout that kv/write.f32.wgsl writes.
#import "kv/read-keys.f32.wgsl"
#import "lib/chosen.all.wgsl"
#import "lib/kv-scales.none.wgsl"
@group(0) @binding(6) var<storage, read> values: array<vec4f>;

// Values of the tokens 2 · pair and 2 · pair + 1 at dimensions 4 · quad to 4 · quad + 3.
fn value_quads(head: u32, pair: u32, quad: u32, dims: u32) -> array<vec4f, 2> {
  let i = (head * 32u + 2u * pair) * (dims / 4u) + quad;
  return array<vec4f, 2>(values[i], values[i + dims / 4u]);
}

// Values of the four tokens from 4 · four on at dimensions 4 · quad to 4 · quad + 3.
fn value_fours(head: u32, four: u32, quad: u32, dims: u32) -> array<vec4f, 4> {
  let near = value_quads(head, four * 2u, quad, dims);
  let far = value_quads(head, four * 2u + 1u, quad, dims);
  return array<vec4f, 4>(near[0], near[1], far[0], far[1]);
}

// Dimensions from one stored value to the next.
fn value_stride(dims: u32, value_dims: u32) -> u32 {
  return value_dims;
}
