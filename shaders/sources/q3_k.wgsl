// GGUF's Q3_K: the third bits of 256 codes, their low 2 bits, 16 scales of 6 bits, an f16; w = d · (scale - 32) · (code - 4).
#import "lib/stored.wgsl"
const VALUES = 256u;
const BYTES = 110u;

fn code_at(at: u32, i: u32) -> u32 {
  let high = (byte_at(at + i % 32u) >> (i / 32u)) & 1u;
  return pair_of_128(at + 32u + i / 128u * 32u, i % 128u) | (high << 2u);
}

// The scale of sixteen s: four bits in the first eight bytes, two in the other four.
fn minor_at(at: u32, s: u32) -> i32 {
  let low = (byte_at(at + 96u + s % 8u) >> (s / 8u * 4u)) & 15u;
  let high = (byte_at(at + 104u + s % 4u) >> (s / 4u * 2u)) & 3u;
  return i32(low | (high << 4u)) - 32;
}

// The scales of the two sixteens of a block of 32, as signed bytes.
fn minor_bits(at: u32, b: u32) -> u32 {
  return (u32(minor_at(at, 2u * b)) & 255u) | ((u32(minor_at(at, 2u * b + 1u)) & 255u) << 8u);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at + 108u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at + 108u) * f32(minor_at(at, i / 16u)) * (f32(code_at(at, i)) - 4.0);
}
