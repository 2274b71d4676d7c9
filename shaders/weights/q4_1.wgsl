// Weights of GGUF's Q4_1: scale · code + minimum.
#import "lib/codes.4.wgsl"
#import "lib/scales.pair.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 0.0;
