// Points of four values in a byte each. `index`: number of a point.
#import "lib/grid.wgsl"

fn word_of(index: u32) -> u32 {
  return index;
}

fn quad_bytes(word: vec4u, index: vec4u, quad: u32) -> vec4u {
  return word;
}

// Value i of the four of a point.
fn point_code(index: u32, i: u32) -> u32 {
  return (grid[index] >> (8u * i)) & 255u;
}
