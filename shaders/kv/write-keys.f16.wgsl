// Pages of 32 tokens in f16 pairs. Keys lie [page][head][d / 2][token], so that a lane of the reader loads four tokens of a key.
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;

// Values beyond f16 are clamped to its largest: infinity times a masked weight of zero would make every query's result NaN.
fn half_pair(pair: vec2f) -> u32 {
  return pack2x16float(clamp(pair, vec2f(-65504.0), vec2f(65504.0)));
}

// `head` counts heads over all pages; d is even.
fn write_key(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  keys[(head * dims + d) * 16u + token] = half_pair(pair);
}
