// Pages of 32 tokens in f32. Keys lie [page][head][d][token].
@group(0) @binding(6) var<storage, read_write> keys: array<f32>;

// `head` counts heads over all pages; d is even.
fn write_key(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  let i = (head * dims + d) * 32u + token;
  keys[i] = pair.x;
  keys[i + 32u] = pair.y;
}
