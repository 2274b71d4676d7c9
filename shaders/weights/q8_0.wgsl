// Weights of GGUF's Q8_0: scale · code.
#import "lib/codes.8.wgsl"
#import "lib/scales.half.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl: ran fastest on llvmpipe
