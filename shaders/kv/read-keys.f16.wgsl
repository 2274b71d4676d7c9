// Reads keys that kv/write-keys.f16.wgsl writes.
@group(0) @binding(5) var<storage, read> keys: array<vec4u>;

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
