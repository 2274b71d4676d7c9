// GGUF's IQ4_NL: a scale in f16, then 32 codes of 4 bits; w = scale · table[code].
#import "lib/stored.wgsl"
#import "lib/table.iq4.wgsl"
const VALUES = 32u;
const BYTES = 18u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_32(at + 2u, i);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at) * table_value(code_at(at, i));
}
