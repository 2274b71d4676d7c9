// GGUF's Q8_0: a scale in f16, then 32 signed bytes; w = scale · code.
#import "lib/stored.wgsl"
const VALUES = 32u;
const BYTES = 34u;

fn code_at(at: u32, i: u32) -> u32 {
  return byte_at(at + 2u + i);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * f32(signed_at(at + 2u + i));
}
