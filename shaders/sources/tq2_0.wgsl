// GGUF's TQ2_0: 256 codes of 2 bits, then a scale in f16; w = scale · (code - 1).
#import "lib/stored.wgsl"
const VALUES = 256u;
const BYTES = 66u;

fn code_at(at: u32, i: u32) -> u32 {
  return pair_of_128(at + i / 128u * 32u, i % 128u);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at + 64u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at + 64u) * (f32(code_at(at, i)) - 1.0);
}
