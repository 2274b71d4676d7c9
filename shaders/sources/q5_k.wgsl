// GGUF's Q5_K: as Q4_K, with a fifth bit of each code in 32 bytes before the others.
#import "lib/stored-minima.wgsl"
const VALUES = 256u;
const BYTES = 176u;

fn code_at(at: u32, i: u32) -> u32 {
  let high = (byte_at(at + 16u + i % 32u) >> (i / 32u)) & 1u;
  return nibble_of_64(at + 48u + i / 64u * 32u, i % 64u) | (high << 4u);
}
