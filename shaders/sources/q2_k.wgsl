// GGUF's Q2_K: 16 bytes of a scale and a minimum of 4 bits each, 256 codes of 2 bits, two f16; w = d · scale · code - dmin · minimum.
#import "lib/stored.wgsl"
const VALUES = 256u;
const BYTES = 84u;

fn code_at(at: u32, i: u32) -> u32 {
  return pair_of_128(at + 16u + i / 128u * 32u, i % 128u);
}

// The scale and the minimum of each 16 of a block of 32, a byte for both.
fn minor_bits(at: u32, b: u32) -> u32 {
  return half_at(at + 2u * b);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at + 80u) | (half_at(at + 82u) << 16u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let minor = byte_at(at + i / 16u);
  return float_at(at + 80u) * f32(minor & 15u) * f32(code_at(at, i)) - float_at(at + 82u) * f32(minor >> 4u);
}
