// Reads the layout that kv/write.f16.wgsl writes.
@group(0) @binding(5) var<storage, read> keys: array<vec4u>;
@group(0) @binding(6) var<storage, read> values: array<vec4u>;

// Keys of the four tokens from 4 · lane on, at dimensions d and d + 1.
fn key_pair(head: u32, d: u32, dims: u32, lane: u32) -> array<vec4f, 2> {
  let q = keys[(head * dims + d) * 4u + lane];
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
