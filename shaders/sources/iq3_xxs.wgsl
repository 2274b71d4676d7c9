// GGUF's IQ3_XXS: an f16, for each four k's the number of a point, then for each 32 four times seven signs and a scale of 4 bits;
// w = d · (scale + 1 / 2) / 2 · sign · value.
#import "lib/stored-signs.wgsl"
#import "lib/grid.fours.wgsl"
const VALUES = 256u;
const BYTES = 98u;

fn index_at(at: u32, four: u32) -> u32 {
  return byte_at(at + 2u + four);
}

fn signs_at(at: u32, eight: u32) -> u32 {
  return even_signs(word_at(at + 66u + eight / 4u * 4u) >> (eight % 4u * 7u));
}

fn minor_at(at: u32, b: u32) -> u32 {
  return byte_at(at + 69u + 4u * b) >> 4u;
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  return minor_at(at, b);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let magnitude = f32(point_code(index_at(at, i / 4u), i % 4u));
  let scale = float_at(at) * (f32(minor_at(at, i / 32u)) + 0.5) * 0.5;
  return scale * select(magnitude, -magnitude, ((signs_at(at, i / 8u) >> (i % 8u)) & 1u) == 1u);
}
