// GGUF's IQ4_XS: an f16, eight scales of 6 bits, then 256 codes of 4 bits; w = d · (scale - 32) · table[code].
#import "lib/stored.wgsl"
#import "lib/table.iq4.wgsl"
const VALUES = 256u;
const BYTES = 136u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_32(at + 8u + i / 32u * 16u, i % 32u);
}

// The scale of a block of 32: four bits of it in four bytes, two in the two bytes before.
fn minor_at(at: u32, b: u32) -> i32 {
  let low = (byte_at(at + 4u + b / 2u) >> (b % 2u * 4u)) & 15u;
  let high = (half_at(at + 2u) >> (2u * b)) & 3u;
  return i32(low | (high << 4u)) - 32;
}

// As a signed byte.
fn minor_bits(at: u32, b: u32) -> u32 {
  return u32(minor_at(at, b)) & 255u;
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * f32(minor_at(at, i / 32u)) * table_value(code_at(at, i));
}
