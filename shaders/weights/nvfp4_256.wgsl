// Weights of NVFP4 with a factor in f32 for 256 k's: factor · float of E4M3 for 16 k's · float of E2M1.
#import "lib/codes.e2m1.wgsl"
#import "lib/scales.e4m3-words.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const SCALED_BLOCKS = 8u;
