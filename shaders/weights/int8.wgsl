// Weights as signed codes of 8 bits with a scale in f32 for 32 k's: scale · code.
#import "lib/codes.8.wgsl"
#import "lib/scales.floats.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl: what ran fastest on llvmpipe
const SCALED_BLOCKS = 1u;
