// Scales as lib/scales.signed-bytes.wgsl reads them.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  let first = block / 8u * 80u; // word
  put_half(2u * first + column, major_bits(at));
  put_byte(4u * first + 64u + b * 32u + column, minor_bits(at, b));
}
