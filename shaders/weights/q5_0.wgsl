// Weights of GGUF's Q5_0: scale · (code - 16).
#import "lib/codes.5.wgsl"
#import "lib/scales.half.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 16.0;
