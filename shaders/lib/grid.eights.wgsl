// Points of eight values in 2 bits each, two points a word. `index`: number of a point.
#import "lib/grid.wgsl"

fn word_of(index: u32) -> u32 {
  return index / 2u;
}

// The codes of the four k's of a quad, a byte each. `word`: that of the point.
fn quad_bytes(word: vec4u, index: vec4u, quad: u32) -> vec4u {
  let codes = (word >> (((index & vec4u(1u)) << vec4u(4u)) + 8u * (quad % 2u))) & vec4u(0xffu);
  let pairs = (codes | (codes << vec4u(12u))) & vec4u(0x000f000fu);
  return (pairs | (pairs << vec4u(6u))) & vec4u(0x03030303u);
}

// Code i of the eight of a point.
fn point_code(index: u32, i: u32) -> u32 {
  return (grid[index / 2u] >> (index % 2u * 16u + 2u * i)) & 3u;
}
