// GGUF's Q4_K: two f16, 12 bytes of scales and minima, then 256 codes of 4 bits; w = d · scale · code - dmin · minimum.
#import "lib/stored-minima.wgsl"
const VALUES = 256u;
const BYTES = 144u;

fn code_at(at: u32, i: u32) -> u32 {
  return nibble_of_64(at + 16u + i / 64u * 32u, i % 64u);
}
