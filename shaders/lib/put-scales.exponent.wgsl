// An exponent as lib/scales.exponent.wgsl reads it.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  put_byte(block * 32u + column, scale_bits(at));
}
