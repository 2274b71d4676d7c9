// Weights of MLX's MXFP4: 2^(exponent - 128) · twice a float of E2M1.
#import "lib/codes.e2m1.wgsl"
#import "lib/scales.exponent.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
