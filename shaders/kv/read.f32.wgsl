// Reads the layout that kv/write.f32.wgsl writes. Keys and values are numbers as they are: all factors are 1.
@group(0) @binding(5) var<storage, read> keys: array<vec4f>;
@group(0) @binding(6) var<storage, read> values: array<vec4f>;

// Keys of the four tokens from 4 · lane on, at each of the dimensions 4 · quad to 4 · quad + 3.
fn key_quads(head: u32, quad: u32, dims: u32, lane: u32) -> array<vec4f, 4> {
  let i = (head * dims + quad * 4u) * 8u + lane;
  return array<vec4f, 4>(keys[i], keys[i + 8u], keys[i + 16u], keys[i + 24u]);
}

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

// Factors of the keys, and of the values, of the four tokens from 4 · four on.
fn key_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return vec4f(1.0);
}

fn value_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return vec4f(1.0);
}
