// Weights of GGUF's IQ2_XS: d · (scale + 1 / 2) / 4 · sign · value of a point.
#import "lib/codes.eights.wgsl"
#import "lib/scales.odd-sixteens.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 256u;
const UPPER_BITS = 1u;
const PLANES = 3u;
const SCALE_BITS = 4u;
const UNIT = 0.125;
