// Weights of GGUF's Q6_K: d · scale · (code - 32).
#import "lib/codes.6.wgsl"
#import "lib/scales.signed.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 32.0;
