// A scale in f16 as lib/scales.halves.wgsl reads it.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  put_half(block / SCALED_BLOCKS * 32u + column, scale_bits(at));
}
