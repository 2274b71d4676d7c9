// GGUF's IQ2_XXS: an f16, then for each 32 k's four numbers of points of eight values, four times seven signs, and a scale of 4 bits;
// w = d · (scale + 1 / 2) / 4 · sign · value.
#import "lib/stored-signs.wgsl"
#import "lib/grid.eights.wgsl"
#import "lib/point-weight.wgsl"
const VALUES = 256u;
const BYTES = 66u;

fn index_at(at: u32, eight: u32) -> u32 {
  return byte_at(at + 2u + eight / 4u * 8u + eight % 4u);
}

fn signs_at(at: u32, eight: u32) -> u32 {
  return even_signs(word_at(at + 6u + eight / 4u * 8u) >> (eight % 4u * 7u));
}

fn minor_at(at: u32, sixteen: u32) -> u32 {
  return byte_at(at + 9u + sixteen / 2u * 8u) >> 4u;
}

fn plane_bits(at: u32, b: u32, plane: u32) -> u32 {
  return minor_at(at, 2u * b);
}

fn major_bits(at: u32) -> u32 {
  return half_at(at);
}
