// GGUF's Q6_K: 256 codes, their low 4 bits before their high 2, 16 signed scales, an f16; w = d · scale · (code - 32).
#import "lib/stored.wgsl"
const VALUES = 256u;
const BYTES = 210u;

fn code_at(at: u32, i: u32) -> u32 {
  let half = i / 128u;
  let low = nibble_of_low(at + half * 64u, i % 128u);
  return low | (pair_of_128(at + 128u + half * 32u, i % 128u) << 4u);
}

fn nibble_of_low(at: u32, i: u32) -> u32 {
  return (byte_at(at + i % 64u) >> (i / 64u * 4u)) & 15u;
}

// The scales of the two sixteens of a block of 32.
fn minor_bits(at: u32, b: u32) -> u32 {
  return half_at(at + 192u + 2u * b);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at + 208u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at + 208u) * f32(signed_at(at + 192u + i / 16u)) * (f32(code_at(at, i)) - 32.0);
}
