// Codes of 4 bits with a scale and an offset in bf16 for 64 k's: scale · code + offset.
#import "lib/codes.4.wgsl"
#import "lib/scales.offsets.wgsl"
#import "lib/halves.bf16.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const SCALED_BLOCKS = 2u;
const OFFSET = 0.0;
