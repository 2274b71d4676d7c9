// Scales and minima of two levels as lib/scales.minima.wgsl and lib/scales.sixteens.wgsl read them.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  let first = block / 8u * 160u; // word
  put_bits(first + column, 0u, 0xffffffffu, major_bits(at));
  put_half(2u * first + 64u + b * 32u + column, minor_bits(at, b));
}
