// GGUF's NVFP4: for each 16 of 64 k's a scale that is a float of E4M3 without sign, then codes of 4 bits, floats of E2M1; w = scale / 2 · twice the float.
#import "lib/stored.wgsl"
#import "lib/e2m1.wgsl"
const VALUES = 64u;
const BYTES = 36u;

fn code_at(at: u32, i: u32) -> u32 {
  return (byte_at(at + 4u + i / 16u * 8u + i % 8u) >> (i % 16u / 8u * 4u)) & 15u;
}

// NaN stands for zero.
fn minor_at(at: u32, sixteen: u32) -> u32 {
  let bits = byte_at(at + sixteen) & 127u;
  return select(bits, 0u, bits == 127u);
}

// The scales of the two sixteens of a block of 32.
fn minor_bits(at: u32, b: u32) -> u32 {
  return minor_at(at, 2u * b) | (minor_at(at, 2u * b + 1u) << 8u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let code = code_at(at, i);
  let magnitude = f32((DOUBLED >> (4u * (code & 7u))) & 15u);
  let scale = unpack2x16float(minor_at(at, i / 16u) << 7u).x * 128.0;
  return scale * select(magnitude, -magnitude, code > 7u);
}
