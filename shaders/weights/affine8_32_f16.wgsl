// Codes of 8 bits with a scale and an offset in f16 for 32 k's: scale · code + offset.
#import "lib/codes.unsigned.wgsl"
#import "lib/scales.offsets.wgsl"
#import "lib/halves.f16.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl
const SCALED_BLOCKS = 1u;
