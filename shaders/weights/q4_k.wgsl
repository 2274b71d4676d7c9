// Weights of GGUF's Q4_K: d · scale · code - dmin · minimum.
#import "lib/codes.4.wgsl"
#import "lib/scales.minima.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const OFFSET = 0.0;
