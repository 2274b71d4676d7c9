// GGUF's Q4_1: a scale and a minimum in f16, then 32 codes of 4 bits; w = scale · code + minimum.
#import "lib/stored.wgsl"
const VALUES = 32u;
const BYTES = 20u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_32(at + 4u, i);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at) | (half_at(at + 2u) << 16u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * f32(code_at(at, i)) + float_at(at + 2u);
}
