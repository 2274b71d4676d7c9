// Rows of x are those that normed.wgsl has multiplied by a norm's weight; their sums are multiplied by what it has found to be
// 1 / sqrt(mean(x²) + eps) of each.
#import "lib/plain-rows.wgsl"

@group(0) @binding(6) var<storage, read> rates: array<f32>; // 32 apart

fn normed(sum: vec4f, square: f32, row: u32, r: u32, lane: u32) -> vec4f {
  return sum * rates[row * 32u];
}
