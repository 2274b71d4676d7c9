// Rows of E2M1 into the packed layout of weights/mxfp4.wgsl; spread-exponents.wgsl brings the scales.
#import "sources/e2m1.wgsl"
#import "lib/put-codes.4.wgsl"

@group(0) @binding(3) var<storage, read_write> scales: array<u32>;

fn put_scales(at: u32, b: u32, block: u32, column: u32) {}
