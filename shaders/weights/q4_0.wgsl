// Weights of GGUF's Q4_0: scale · (code - 8).
#import "lib/codes.4.wgsl"
#import "lib/scales.half.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 8.0;
