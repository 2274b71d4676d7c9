// GGUF's IQ3_S: an f16, for each four k's 8 bits of the number of a point, the ninth bits, all signs, then 8 scales of 4 bits;
// w = d · (2 · scale + 1) · sign · value.
#import "lib/stored-signs.wgsl"
#import "lib/grid.fours.wgsl"
const VALUES = 256u;
const BYTES = 110u;

fn index_at(at: u32, four: u32) -> u32 {
  return byte_at(at + 2u + four) | (((byte_at(at + 66u + four / 8u) >> (four % 8u)) & 1u) << 8u);
}

fn signs_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + 74u + eight);
}

fn minor_at(at: u32, b: u32) -> u32 {
  return nibble_at(at + 106u, b);
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  if (plane == 0u) {
    return minor_at(at, b);
  }
  return nibble_at(at + 66u, 2u * b + plane - 1u);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let magnitude = f32(point_code(index_at(at, i / 4u), i % 4u));
  let scale = float_at(at) * f32(2u * minor_at(at, i / 32u) + 1u);
  return scale * select(magnitude, -magnitude, ((signs_at(at, i / 8u) >> (i % 8u)) & 1u) == 1u);
}
