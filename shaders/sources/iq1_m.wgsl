// GGUF's IQ1_M: for each eight k's 8 bits of the number of a point, then its upper 3 bits and the sign of its eighths, then 16 scales of 3 bits and an
// f16, four bits of it in each four scales; w = d · (2 · scale + 1) · (value ± 1 / 8).
#import "lib/stored-signs.wgsl"
#import "lib/grid.eights.wgsl"
const VALUES = 256u;
const BYTES = 56u;

fn index_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + eight) | ((nibble_at(at + 32u, eight) & 7u) << 8u);
}

fn is_less_at(at: u32, eight: u32) -> u32 {
  return nibble_at(at + 32u, eight) >> 3u;
}

fn minor_at(at: u32, sixteen: u32) -> u32 {
  return (half_at(at + 48u + sixteen / 4u * 2u) >> (sixteen % 4u * 3u)) & 7u;
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  if (plane < 2u) {
    return minor_at(at, 2u * b + plane);
  }
  return nibble_at(at + 32u, 4u * b + plane - 2u);
}

fn major_bits(at: u32) -> u32 {
  var bits = 0u;
  for (var i = 0u; i < 4u; i++) {
    bits |= (half_at(at + 48u + 2u * i) >> 12u) << (4u * i);
  }
  return bits;
}

fn major_at(at: u32) -> f32 {
  return unpack2x16float(major_bits(at)).x;
}

fn weight_at(at: u32, i: u32) -> f32 {
  let value = f32(point_code(index_at(at, i / 8u), i % 8u)) - 1.0;
  let eighth = select(0.125, -0.125, is_less_at(at, i / 8u) == 1u);
  return major_at(at) * f32(2u * minor_at(at, i / 16u) + 1u) * (value + eighth);
}
