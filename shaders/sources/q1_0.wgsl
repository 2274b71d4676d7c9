// GGUF's Q1_0: a scale in f16, then 128 codes of one bit; w = scale · (2 · code - 1).
#import "lib/stored.wgsl"
const VALUES = 128u;
const BYTES = 18u;

fn code_at(at: u32, i: u32) -> u32 {
  return (byte_at(at + 2u + i / 8u) >> (i % 8u)) & 1u;
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * (2.0 * f32(code_at(at, i)) - 1.0);
}
