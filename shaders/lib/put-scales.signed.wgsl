// Scales as lib/scales.signed.wgsl reads them.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  let first = block / 8u * 288u; // of pairs of bytes
  put_half(first + column, major_bits(at));
  put_half(first + 32u + b * 32u + column, minor_bits(at, b));
}
