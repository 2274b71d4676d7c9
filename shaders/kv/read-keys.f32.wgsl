// Reads keys that kv/write-keys.f32.wgsl writes.
@group(0) @binding(5) var<storage, read> keys: array<vec4f>;

// Keys of the four tokens from 4 · lane on, at each of the dimensions 4 · quad to 4 · quad + 3.
fn key_quads(head: u32, quad: u32, dims: u32, lane: u32) -> array<vec4f, 4> {
  let i = (head * dims + quad * 4u) * 8u + lane;
  return array<vec4f, 4>(keys[i], keys[i + 8u], keys[i + 16u], keys[i + 24u]);
}
