// GGUF's IQ2_XS: an f16, for each eight k's the number of a point in 9 bits and seven signs, then 16 scales of 4 bits;
// w = d · (scale + 1 / 2) / 4 · sign · value.
#import "lib/stored-signs.wgsl"
#import "lib/grid.eights.wgsl"
#import "lib/point-weight.wgsl"
const VALUES = 256u;
const BYTES = 74u;

fn index_at(at: u32, eight: u32) -> u32 {
  return half_at(at + 2u + 2u * eight) & 511u;
}

fn signs_at(at: u32, eight: u32) -> u32 {
  return even_signs(half_at(at + 2u + 2u * eight) >> 9u);
}

fn minor_at(at: u32, sixteen: u32) -> u32 {
  return nibble_at(at + 66u, sixteen);
}

// The ninth bits of four numbers.
fn upper_bits(at: u32, b: u32) -> u32 {
  var bits = 0u;
  for (var i = 0u; i < 4u; i++) {
    bits |= (index_at(at, 4u * b + i) >> 8u) << i;
  }
  return bits;
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  if (plane < 2u) {
    return minor_at(at, 2u * b + plane);
  }
  return upper_bits(at, b);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}
