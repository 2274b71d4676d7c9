// Reads what kv/write.f16.wgsl lays down.
@group(0) @binding(5) var<storage, read> keys: array<vec4u>;
@group(0) @binding(6) var<storage, read> values: array<vec2u>;

// Four tokens from 4 · lane on, at d and d + 1.
fn key_pair(head: u32, d: u32, dims: u32, lane: u32) -> array<vec4f, 2> {
  let q = keys[(head * dims + d) * 4u + lane];
  let a = unpack2x16float(q.x);
  let b = unpack2x16float(q.y);
  let c = unpack2x16float(q.z);
  let e = unpack2x16float(q.w);
  return array<vec4f, 2>(vec4f(a.x, b.x, c.x, e.x), vec4f(a.y, b.y, c.y, e.y));
}

// The d's 4 · quad to 4 · quad + 3 of a token.
fn value_quad(head: u32, token: u32, quad: u32, dims: u32) -> vec4f {
  let q = values[(head * 32u + token) * (dims / 4u) + quad];
  return vec4f(unpack2x16float(q.x), unpack2x16float(q.y));
}
