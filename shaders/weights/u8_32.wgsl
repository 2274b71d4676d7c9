// Codes of 8 bits with a scale and a zero point for 32 k's: scale · (code - zero).
#import "lib/codes.unsigned.wgsl"
#import "lib/scales.zeros.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl: ran fastest on llvmpipe
const SCALED_BLOCKS = 1u;
