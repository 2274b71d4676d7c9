// GGUF's IQ1_S: an f16, for each eight k's 8 bits of the number of a point, then for each 32 the upper 3 bits of four numbers, a scale of 3 bits
// and the sign of the eighths; w = d · (2 · scale + 1) · (value ± 1 / 8).
#import "lib/stored-signs.wgsl"
#import "lib/grid.eights.wgsl"
const VALUES = 256u;
const BYTES = 50u;

fn upper_at(at: u32, b: u32) -> u32 {
  return half_at(at + 34u + 2u * b);
}

fn index_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + 2u + eight) | (((upper_at(at, eight / 4u) >> (eight % 4u * 3u)) & 7u) << 8u);
}

fn is_less_at(at: u32, eight: u32) -> u32 {
  return upper_at(at, eight / 4u) >> 15u;
}

fn minor_at(at: u32, sixteen: u32) -> u32 {
  return (upper_at(at, sixteen / 2u) >> 12u) & 7u;
}

// The scale and the sign, then the upper bits.
fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  return (upper_at(at, b) >> ((plane + 3u) % 4u * 4u)) & 15u;
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}

fn major_at(at: u32) -> f32 {
  return float_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let value = f32(point_code(index_at(at, i / 8u), i % 8u)) - 1.0;
  let eighth = select(0.125, -0.125, is_less_at(at, i / 8u) == 1u);
  return major_at(at) * f32(2u * minor_at(at, i / 16u) + 1u) * (value + eighth);
}
