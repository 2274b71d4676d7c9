// GGUF's MXFP4: an 8-bit exponent, then 32 codes of 4 bits, floats of two exponent bits and one mantissa bit (E2M1); w = 2^(exponent - 128) · twice
// the float. Scales below the smallest normal f32 are zero, as WGSL may take them for.
#import "lib/stored.wgsl"
#import "lib/e2m1.wgsl"
const VALUES = 32u;
const BYTES = 17u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_32(at + 1u, i);
}

fn scale_bits(at: u32) -> u32 {
  return byte_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let code = code_at(at, i);
  let magnitude = f32((DOUBLED >> (4u * (code & 7u))) & 15u);
  return bitcast<f32>((max(scale_bits(at), 1u) - 1u) << 23u) * select(magnitude, -magnitude, code > 7u);
}
