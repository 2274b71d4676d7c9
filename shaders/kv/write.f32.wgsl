// Values lie [page][head][token][d].
#import "kv/write-keys.f32.wgsl"
@group(0) @binding(7) var<storage, read_write> values: array<f32>;

fn write_value(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
  let i = (head * 32u + token) * dims + d;
  values[i] = pair.x;
  values[i + 1u] = pair.y;
}
