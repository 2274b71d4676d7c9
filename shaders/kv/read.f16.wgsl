// Reads the layout that kv/write.f16.wgsl writes. Keys and values are numbers as they are: all factors are 1.
@group(0) @binding(5) var<storage, read> keys: array<vec4u>;
@group(0) @binding(6) var<storage, read> values: array<vec4u>;

// Keys of the four tokens from 4 · lane on, at each of the dimensions 4 · quad to 4 · quad + 3.
fn key_quads(head: u32, quad: u32, dims: u32, lane: u32) -> array<vec4f, 4> {
  let at = (head * dims + quad * 4u) * 4u + lane;
  let near = key_pair(keys[at]);
  let far = key_pair(keys[at + 8u]);
  return array<vec4f, 4>(near[0], near[1], far[0], far[1]);
}

fn key_pair(q: vec4u) -> array<vec4f, 2> {
  let a = unpack2x16float(q.x);
  let b = unpack2x16float(q.y);
  let c = unpack2x16float(q.z);
  let e = unpack2x16float(q.w);
  return array<vec4f, 2>(vec4f(a.x, b.x, c.x, e.x), vec4f(a.y, b.y, c.y, e.y));
}

// Values of the tokens 2 · pair and 2 · pair + 1 at dimensions 4 · quad to 4 · quad + 3.
fn value_quads(head: u32, pair: u32, quad: u32, dims: u32) -> array<vec4f, 2> {
  let q = values[(head * 16u + pair) * (dims / 4u) + quad];
  let first = vec4f(unpack2x16float(q.x), unpack2x16float(q.y));
  return array<vec4f, 2>(first, vec4f(unpack2x16float(q.z), unpack2x16float(q.w)));
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
