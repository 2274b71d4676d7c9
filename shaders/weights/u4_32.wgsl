// Codes of 4 bits with a scale and a zero point for 32 k's: scale · (code - zero).
#import "lib/codes.4.wgsl"
#import "lib/scales.zeros.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
const SCALED_BLOCKS = 1u;
const OFFSET = 0.0;
