// Pages of 32 tokens in f16 pairs. Keys lie [page][head][d / 2][token], values [page][head][token][d / 2], so that a lane
// of the reader holds four tokens of a key and four d's of a value.
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;
@group(0) @binding(7) var<storage, read_write> values: array<u32>;

// `head` counts heads over all pages; d is even.
fn write_key(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  keys[(head * dims + d) * 16u + token] = pack2x16float(pair);
}

fn write_value(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  values[((head * 32u + token) * dims + d) / 2u] = pack2x16float(pair);
}
