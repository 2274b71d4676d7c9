// GGUF's IQ2_S: an f16, for each eight k's 8 bits of the number of a point, all signs, the upper 2 bits of the numbers, then 16 scales of 4 bits;
// w = d · (scale + 1 / 2) / 4 · sign · value.
#import "lib/stored-signs.wgsl"
#import "lib/grid.eights.wgsl"
#import "lib/point-weight.wgsl"
const VALUES = 256u;
const BYTES = 82u;

fn index_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + 2u + eight) | (((byte_at(at + 66u + eight / 4u) >> (eight % 4u * 2u)) & 3u) << 8u);
}

fn signs_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + 34u + eight);
}

fn minor_at(at: u32, sixteen: u32) -> u32 {
  return nibble_at(at + 74u, sixteen);
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  if (plane < 2u) {
    return minor_at(at, 2u * b + plane);
  }
  return nibble_at(at + 66u, 2u * b + plane - 2u);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}
