// Weights of GGUF's IQ2_S: d · (scale + 1 / 2) / 4 · sign · value of a point.
#import "lib/codes.eights.wgsl"
#import "lib/scales.odd-sixteens.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 512u;
const UPPER_BITS = 2u;
const PLANES = 4u;
const SCALE_BITS = 4u;
const UNIT = 0.125;
