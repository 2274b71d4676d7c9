// Weights as codes of 4 bits with a scale in f32 for 32 k's: scale · (code - 8).
#import "lib/codes.4.wgsl"
#import "lib/scales.floats.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: what ran fastest on llvmpipe
const SCALED_BLOCKS = 1u;
const OFFSET = 8.0;
