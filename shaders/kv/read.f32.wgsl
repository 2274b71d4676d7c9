// Reads the layout that kv/write.f32.wgsl writes.
@group(0) @binding(5) var<storage, read> keys: array<vec4f>;
@group(0) @binding(6) var<storage, read> values: array<vec4f>;

// Keys of the four tokens from 4 · lane on, at dimensions d and d + 1.
fn key_pair(head: u32, d: u32, dims: u32, lane: u32) -> array<vec4f, 2> {
  let i = (head * dims + d) * 8u + lane;
  return array<vec4f, 2>(keys[i], keys[i + 8u]);
}

// Values of the tokens 2 · pair and 2 · pair + 1 at dimensions 4 · quad to 4 · quad + 3.
fn value_quads(head: u32, pair: u32, quad: u32, dims: u32) -> array<vec4f, 2> {
  let i = (head * 32u + 2u * pair) * (dims / 4u) + quad;
  return array<vec4f, 2>(values[i], values[i + dims / 4u]);
}
