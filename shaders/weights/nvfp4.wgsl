// Weights of GGUF's NVFP4: float of E4M3 for 16 k's · float of E2M1.
#import "lib/codes.e2m1.wgsl"
#import "lib/scales.e4m3-pair.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
