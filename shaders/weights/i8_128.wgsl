// Weights of bitsandbytes' LLM.int8 with a scale for 128 k's: scale · code / 127.
#import "lib/codes.8.wgsl"
#import "lib/scales.ranges.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl
const SCALED_BLOCKS = 4u;
