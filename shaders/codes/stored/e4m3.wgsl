// Rows of E4M3 into the packed layout of weights/e4m3.wgsl; spread-scales.wgsl brings the scales.
#import "sources/e4m3.wgsl"
const WORDS = 8u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

fn put_codes(at: u32, first: u32) {
  for (var i = 0u; i < WORDS; i++) {
    let k = first + 4u * i;
    put(i, code_at(at, k + 2u) | (code_at(at, k) << 8u) | (code_at(at, k + 3u) << 16u) | (code_at(at, k + 1u) << 24u));
  }
}

fn put_scales(at: u32, b: u32, block: u32, column: u32) {}
