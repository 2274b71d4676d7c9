// Values lie [page][head][token / 2][d / 4][two tokens][two pairs], so that a lane of the reader loads four d's of two values.
#import "kv/write-keys.f16.wgsl"
@group(0) @binding(7) var<storage, read_write> values: array<u32>;

fn write_value(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  let quad = (head * 16u + token / 2u) * (dims / 4u) + d / 4u;
  values[quad * 4u + token % 2u * 2u + d % 4u / 2u] = half_pair(pair);
}
