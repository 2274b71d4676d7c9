// Weights of GGUF's TQ1_0 and TQ2_0: scale · (code - 1).
#import "lib/codes.2.wgsl"
#import "lib/scales.halves.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const SCALED_BLOCKS = 8u;
const OFFSET = 1.0;
