// Weights of GGUF's Q3_K: d · scale · (code - 4).
#import "lib/codes.3.wgsl"
#import "lib/scales.signed.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 4.0;
