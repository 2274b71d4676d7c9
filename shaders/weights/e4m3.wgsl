// Weights of FP8 checkpoints: scale · code, a float of E4M3.
#import "lib/codes.e4m3.wgsl"
#import "lib/scales.float.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
