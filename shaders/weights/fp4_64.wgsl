// Weights of bitsandbytes' FP4 with a scale for 64 k's: scale · table[code].
#import "lib/codes.lookup.wgsl"
#import "lib/lookup.fp4.wgsl"
#import "lib/scales.floats.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const SCALED_BLOCKS = 2u;
