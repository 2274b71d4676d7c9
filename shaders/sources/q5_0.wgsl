// GGUF's Q5_0: a scale in f16, the fifth bits of 32 codes, then their low 4 bits; w = scale · (code - 16).
#import "lib/stored.wgsl"
const VALUES = 32u;
const BYTES = 22u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_32(at + 6u, i) | (bit_of_32(at + 2u, i) << 4u);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * (f32(code_at(at, i)) - 16.0);
}
