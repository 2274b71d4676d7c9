// Weights of GGUF's Q1_0: scale · (2 · code - 1).
#import "lib/codes.1.wgsl"
#import "lib/scales.halves.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const SCALED_BLOCKS = 4u;
