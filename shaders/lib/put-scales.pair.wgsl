// A scale and a minimum as lib/scales.pair.wgsl reads them.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  put_bits(block * 32u + column, 0u, 0xffffffffu, scale_bits(at));
}
