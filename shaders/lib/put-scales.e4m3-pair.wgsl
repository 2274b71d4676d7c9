// Scales as lib/scales.e4m3-pair.wgsl reads them.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  put_half(block * 32u + column, minor_bits(at, b));
}
